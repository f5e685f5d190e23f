#include "cluster/process_group.h"

#include <ATen/ops/from_blob.h>
#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace plimsoll {
namespace {

using Group = c10::intrusive_ptr<c10d::ProcessGroup>;

at::Tensor tensor_of(const std::byte* bytes, size_t count) {
  // from_blob does not accept a const pointer; bytes to send are only read.
  return at::from_blob(const_cast<std::byte*>(bytes), {static_cast<int64_t>(count)}, at::kByte);
}

// Returns the first sentence of a message from torch, without the source location before it.
std::string first_sentence(const std::string& text) {
  const size_t location_end = text.starts_with('[') ? text.find("] ") : text.npos;
  const size_t begin = location_end == text.npos ? 0 : location_end + 2;
  return text.substr(begin, std::min(text.find(". ", begin), text.find('\n', begin)) - begin);
}

class GroupExchange final : public Exchange {
 public:
  GroupExchange(const Group& group, std::function<std::string()> describe_lost_rank, RankWatch* watch)
      : group_(group),
        backend_(group->getBackend(at::kCPU)),
        describe_lost_rank_(std::move(describe_lost_rank)),
        watch_(watch) {}

  int rank() const override { return backend_->getRank(); }
  int ranks() const override { return backend_->getSize(); }

  void send(int to, std::span<const std::byte> bytes) override {
    if (bytes.empty()) return;
    traffic_.bytes_sent += std::ssize(bytes);
    start([&] {
      std::vector<at::Tensor> tensors{tensor_of(bytes.data(), bytes.size())};
      return backend_->send(tensors, to, kTag);
    });
  }

  void receive(int from, std::span<std::byte> bytes) override {
    if (bytes.empty()) return;
    start([&] {
      std::vector<at::Tensor> tensors{tensor_of(bytes.data(), bytes.size())};
      return backend_->recv(tensors, from, kTag);
    });
  }

  void wait() override {
    const auto start = std::chrono::steady_clock::now();
    if (watch_ != nullptr) watch_->begin_wait();
    for (const auto& work : std::exchange(pending_, {})) report_loss([&] { work->wait(); });
    if (watch_ != nullptr) watch_->end_wait();
    traffic_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  void begin_step() override {
    if (watch_ != nullptr) watch_->begin_step();
  }
  void end_step() override {
    if (watch_ != nullptr) watch_->end_step();
  }

  Traffic traffic() const override { return traffic_; }

 private:
  // One tag is enough: messages between two ranks arrive in the order in which they are sent.
  static constexpr int kTag = 0;

  template <typename Start>
  void start(const Start& work) {
    report_loss([&] { pending_.push_back(work()); });
  }

  // torch's exceptions name an address, but not the rank.
  template <typename Call>
  void report_loss(const Call& call) {
    try {
      call();
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      // From here on, no pending call writes to its buffers.
      pending_.clear();
      if (watch_ != nullptr) watch_->end_wait();  // describe_lost_rank_() always returns.
      throw RankLost(fmt::format("{} ({})", describe_lost_rank_(), first_sentence(error.what())));
    }
  }

  const Group group_;
  // The backend is called directly, because messages are small and torch's dispatcher would need as much time
  // as they do.
  const c10::intrusive_ptr<c10d::Backend> backend_;
  const std::function<std::string()> describe_lost_rank_;
  RankWatch* const watch_;
  std::vector<c10::intrusive_ptr<c10d::Work>> pending_;
  Traffic traffic_;
};

}  // namespace

std::unique_ptr<Exchange> join_process_group(const std::string& name,
                                             std::function<std::string()> describe_lost_rank,
                                             RankWatch* watch) {
  try {
    return std::make_unique<GroupExchange>(c10d::resolve_process_group(name), std::move(describe_lost_rank),
                                           watch);
  } catch (const std::exception& error) {
    throw Failure(fmt::format("there is no process group '{}': {}", name, first_sentence(error.what())));
  }
}

}  // namespace plimsoll
