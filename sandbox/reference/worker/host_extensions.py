# SPDX-License-Identifier: Apache-2.0
# Places the submission's files and what was built from them where the candidate's Python finds them.
import os
import tarfile

EXTENSION = "cuda_extension"  # as in the workspace's layout
EXTENSIONS = "extensions"  # folder with the results of torch's own loaders


def place_files(folder, files, task):
    """model.py and reference.py contain the task's text, so that model_new.py may import them."""
    for name, text in {**files, "model.py": task, "reference.py": task}.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)


def place_artefact(folder, kind, fd):
    """`kind`: "none", "extension" (a shared object) or "inline" (a tar of what load_inline built)."""
    if kind == "extension":
        with open(fd, "rb", closefd=False) as source, open(os.path.join(folder, f"{EXTENSION}.so"), "wb") as target:
            target.write(source.read())
    elif kind == "inline":
        _unpack(fd, os.path.join(folder, EXTENSIONS))
        serve_built(os.path.join(folder, EXTENSIONS))


def _unpack(fd, folder):
    """Extracts only members of the form NAME/NAME.so."""
    with open(fd, "rb", closefd=False) as source, tarfile.open(fileobj=source, mode="r|") as archive:
        for member in archive:
            name = os.path.basename(member.name).removesuffix(".so")
            if not member.isfile() or member.name != f"{name}/{name}.so":
                continue
            os.makedirs(os.path.join(folder, name), exist_ok=True)
            with open(os.path.join(folder, member.name), "wb") as target:
                target.write(archive.extractfile(member).read())


def serve_built(folder):
    """Makes torch's loaders return what they built earlier, in the jail with compilers."""
    import torch
    from torch.utils import cpp_extension

    def built(name, *_args, is_python_module=True, **_options):
        path = os.path.join(folder, name, f"{name}.so")
        if not os.path.exists(path):
            raise RuntimeError(f'extension "{name}" is not built: only what is built while model_new.py is imported or '
                               "ModelNew is made can be loaded")
        if is_python_module:
            return cpp_extension._import_module_from_library(name, os.path.join(folder, name), True)
        torch.ops.load_library(path)
        return None

    cpp_extension.load_inline = cpp_extension.load = built
