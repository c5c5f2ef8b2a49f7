# SPDX-License-Identifier: Apache-2.0
# Prints `./warpsmith --help`; works before anything is built. Sourced.

print_help() {
  cat <<'HELP'
Warpsmith trains a language model to write fast kernels; their verdicts cannot be forged.

Usage: ./warpsmith [--offline DIR] COMMAND [ARGUMENTS]

The first launch installs Debian packages, creates a Python environment (5 GB in your cache
folder) and builds; about 20 minutes on two cores. Later launches start at once.

Train and judge
  train CONFIG       train a policy; first: ./warpsmith train configs/quickstart.toml
                       --set KEY=VALUE   override one key, e.g. --set run.seed=2
                       --dry-run         check, show the actor tree and the memory; start nothing
                       --resume RUN      continue after Ctrl-C, a crash or kill -9
  eval CONFIG        sample a model on tasks and report pass rate, rewards and speed-ups
  check DIR          judge one kernel: reference.py next to solution/ with kernel.cpp, or
                     kernels.cu and plan.toml for GPUs, or model_new.py
  optimize OP.py     judge a folder of kernels; promote one that beats all others, and export it
  mcp                offer the judge to other agents as tools (Model Context Protocol)
  serve MODEL        serve a model over OpenAI's HTTP interface
  runs list|show|trajectories
                     list runs, show one, or read its trajectories
  synth              make training tasks: crawl, compose, filter, store; or import tasks
  config CONFIG      check a configuration and print it with every default
  bench PART         compare a part with another implementation (peer) or a target (bar);
                     bench compare OLD NEW compares two builds
  doctor             show what this machine offers and lacks, and how to get the rest

Develop
  build              build everything, including the tests
  test               run what CI runs: checks, build, all tests; test --help for parts of it
  python …           run the pinned Python, with torch and transformers, on a script
  clean              remove build/; --python also removes the Python environment

  COMMAND --help     the options of one command (builds first)

Exit codes: 0 done, 1 judged not correct, 2 bad input, 3 infrastructure, 130 interrupted.
One Ctrl-C stops training cleanly: it saves its state and exits with 0.

Environment
  WARPSMITH_PRESET   dev (default), release or asan: build/PRESET is used
  WARPSMITH_PYTHON   an interpreter with torch; default: the pinned environment
  WARPSMITH_JOBS     compile jobs; default: one per core
HELP
}
