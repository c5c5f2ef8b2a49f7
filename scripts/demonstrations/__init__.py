# SPDX-License-Identifier: Apache-2.0
# Demonstrations for supervised fine-tuning: tasks in, conversations that write C++ kernels out.
