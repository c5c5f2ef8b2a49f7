# SPDX-License-Identifier: Apache-2.0
# Right kernels and plans of contract `device`, in many styles.
