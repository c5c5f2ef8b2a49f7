// SPDX-License-Identifier: Apache-2.0
// A second stream of a GPU, whose work runs beside that of the current stream.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Event.h>

#include <functional>
#include <memory>
#include <optional>

namespace warpsmith::policy {

/// On a CPU, work runs in place and nothing waits. Tensors that work on it reads or writes must
/// live until `join` was called for it: then the current stream's order covers them. What work
/// allocates may be used and freed after `join`: its memory goes to later work here alone, which
/// starts behind the current stream.
class SideStream {
 public:
  explicit SideStream(at::Device device);

  /// The end of one piece of work; empty on a CPU.
  using Mark = std::shared_ptr<c10::Event>;

  /// Queues `work` behind all that the current stream holds now.
  Mark run(const std::function<void()>& work) const;
  /// The current stream goes on only behind the mark. Does not block this thread.
  void join(const Mark& mark) const;

 private:
  at::Device device_;
  std::optional<c10::Stream> stream_;  // none on a CPU
};

}  // namespace warpsmith::policy
