# SPDX-License-Identifier: Apache-2.0
# What `./warpsmith --help` says, before anything is built. Sourced.

print_help() {
  cat <<'HELP'
Warpsmith trains a language model to write fast kernels, with verdicts that cannot be forged.

Usage: ./warpsmith [--offline DIR] COMMAND [ARGUMENTS]

The first launch installs Debian packages, makes a Python environment (5 GB in your cache folder)
and builds; about 20 minutes on two cores. Later launches start at once.

Learn and look
  train CONFIG       train a policy; first: ./warpsmith train configs/quickstart.toml
                       --set KEY=VALUE   override one key, e.g. --set run.seed=2
                       --dry-run         check, show the actor tree and the memory; start nothing
                       --resume RUN      go on after Ctrl-C, a crash or kill -9
  eval CONFIG        sample a model on tasks and report pass rate, rewards and speed-ups
  check DIR          judge one kernel: reference.py beside solution/kernel.cpp, or kernels.cu and
                     plan.toml for GPUs
  runs list|show     what was trained, and how it went
  config CONFIG      check a configuration and print it with every default
  bench NAME         measure a part of the engine
  doctor             what this machine offers and lacks, and how to get the rest

Work on it
  build              build everything, tests too
  test               everything that CI runs: checks, build, all tests; test --help for less
  clean              remove build/ (--python: this lock file's environment too)

  COMMAND --help     the options of one command (builds first)

Exit codes: 0 done, 1 judged not correct, 2 bad input, 3 infrastructure, 130 interrupted
(training that one Ctrl-C stopped has written its checkpoint: 0).

Environment
  WARPSMITH_PRESET   dev (default), release or asan: build/PRESET is used
  WARPSMITH_PYTHON   an interpreter with torch, instead of the pinned environment
  WARPSMITH_JOBS     compile jobs; default: one per core
HELP
}
