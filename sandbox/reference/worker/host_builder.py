# SPDX-License-Identifier: Apache-2.0
# Builds the extensions that a model_new.py requests from torch's own loaders, in a jail with compilers and without a
# GPU, which ends with this process. Standard output is a tar of the shared objects. With exit code 1, standard error
# has the reason.
import gc
import json
import os
import sys
import tarfile

BUILD = "/tmp/extensions"
FOLDER = "/tmp/candidate"


class Builds:
    """Wraps torch's loaders and records what they build."""

    def __init__(self, cpp_extension):
        self.made, self.failed = [], ""
        self.load = self._noting(cpp_extension.load)
        self.load_inline = self._noting(cpp_extension.load_inline)

    def _noting(self, loader):
        def load(name, *args, **options):
            folder = os.path.join(BUILD, name)
            os.makedirs(folder, exist_ok=True)
            options |= {"build_directory": folder, "verbose": False}
            try:
                module = loader(name, *args, **options)
            except BaseException as error:
                self.failed = self.failed or f"{type(error).__name__}: {error}"
                raise
            self.made.append(name)
            return module

        return load


def _reported(error):
    return f"{type(error).__name__}: {error}"


def _run(code):
    """Runs the candidate's import and constructor. An error after the last build is reported when it is loaded."""
    import importlib

    import host_task
    import program

    os.chdir(FOLDER)
    sys.path.insert(0, FOLDER)
    try:
        module = importlib.import_module("model_new")
        args, kwargs = host_task.init_arguments(program.read(code))
        module.ModelNew(*args, **kwargs)
    except BaseException as error:
        return _reported(error)
    return ""


def main():
    result = os.dup(1)
    os.dup2(2, 1)  # redirects prints and compilers' output
    with open("/build.json", encoding="utf-8") as file:
        request = json.load(file)
    gc.disable()  # torch is imported faster without it, and this process ends soon
    from torch.utils import cpp_extension

    from host_extensions import place_files

    place_files(FOLDER, request["files"], request["task"])
    builds = Builds(cpp_extension)
    cpp_extension.load, cpp_extension.load_inline = builds.load, builds.load_inline
    raised = _run(request["task"])
    if builds.failed or not builds.made:
        print(builds.failed or raised or "model_new.py built no extension", file=sys.stderr, flush=True)
        os._exit(1)
    with os.fdopen(result, "wb") as target, tarfile.open(fileobj=target, mode="w|") as archive:
        for name in dict.fromkeys(builds.made):
            archive.add(os.path.join(BUILD, name, f"{name}.so"), os.path.join(name, f"{name}.so"))
    os._exit(0)


if __name__ == "__main__":
    main()
