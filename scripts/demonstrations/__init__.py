# SPDX-License-Identifier: Apache-2.0
# Demonstrations for supervised fine-tuning: makes conversations that write C++ kernels from tasks.
