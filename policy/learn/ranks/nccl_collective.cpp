// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/ranks/threaded_group.hpp"

#include <atomic>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#include <utility>

namespace warpsmith::policy {
namespace {

class NcclCollective final : public Collective {
 public:
  explicit NcclCollective(c10::intrusive_ptr<c10d::ProcessGroupNCCL> ranks)
      : ranks_(std::move(ranks)) {}

  void reduce_scatter(const at::Tensor& all, at::Tensor& own) override {
    at::Tensor input = all;
    finish(*ranks_->_reduce_scatter_base(own, input));
  }
  void all_gather(const at::Tensor& own, at::Tensor& all) override {
    at::Tensor input = own;
    finish(*ranks_->_allgather_base(all, input));
  }
  void abort() override {
    if (!aborted_.exchange(true)) ranks_->abort();
  }
  void close() override {
    if (!aborted_) ranks_->shutdown();
  }

 private:
  /// Lets the current stream wait for the work.
  static void finish(c10d::Work& work) { work.wait(); }

  c10::intrusive_ptr<c10d::ProcessGroupNCCL> ranks_;
  std::atomic<bool> aborted_ = false;
};

/// The group's deadline comes first. c10d's deadline ends the process if a rank is stuck in a
/// driver call.
constexpr int longer = 2;

}  // namespace

bool nccl_is_built() {
  return true;
}

std::vector<std::shared_ptr<Collective>> nccl_collectives(const std::vector<c10::Device>& gpus,
                                                          std::chrono::milliseconds timeout) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  store->setTimeout(timeout);
  std::vector<std::shared_ptr<Collective>> all;
  all.reserve(gpus.size());
  for (size_t rank = 0; rank < gpus.size(); ++rank) {
    auto options = c10d::ProcessGroupNCCL::Options::create();
    options->timeout = longer * timeout;
    all.push_back(std::make_shared<NcclCollective>(c10::make_intrusive<c10d::ProcessGroupNCCL>(
        store, static_cast<int>(rank), static_cast<int>(gpus.size()), std::move(options))));
  }
  return all;
}

}  // namespace warpsmith::policy
