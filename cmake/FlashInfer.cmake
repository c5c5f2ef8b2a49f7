# Finds FlashInfer's headers (attention kernels), which PyPI's flashinfer-python brings with a CCCL that fits them.
# Sets WARPSMITH_FLASHINFER: the folder of its data; empty: the engine on a GPU is left out. The Python package is
# never imported. scripts/offline-bundle carries it to share/flashinfer of an unpacked bundle.
execute_process(COMMAND "${WARPSMITH_PYTHON}" -c
  "import importlib.util as u; s = u.find_spec('flashinfer'); print(s.submodule_search_locations[0] if s else '')"
  OUTPUT_VARIABLE flashinfer_package OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
find_path(WARPSMITH_FLASHINFER include/flashinfer/attention/decode.cuh
  HINTS "${flashinfer_package}/data" PATH_SUFFIXES share/flashinfer)
