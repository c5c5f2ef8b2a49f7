# SPDX-License-Identifier: Apache-2.0
# Correct kernels and plans of contract `device`, in many styles.
