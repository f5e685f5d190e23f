#include "engine/blocks/exchange.h"

#include <algorithm>

namespace plimsoll {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// Calls visit(rank) for every other rank.
template <typename Visit>
void visit_others(const Exchange& exchange, const Visit& visit) {
  for (int rank = 0; rank < exchange.ranks(); ++rank)
    if (rank != exchange.rank()) visit(rank);
}

}  // namespace

void gather(Exchange& exchange, std::span<const double> mine, std::span<double> all) {
  const auto part_of = [&](int rank) {
    return all.subspan(static_cast<size_t>(rank) * mine.size(), mine.size());
  };
  visit_others(exchange, [&](int rank) { exchange.receive(rank, std::as_writable_bytes(part_of(rank))); });
  visit_others(exchange, [&](int rank) { exchange.send(rank, std::as_bytes(mine)); });
  std::ranges::copy(mine, part_of(exchange.rank()).begin());
  exchange.wait();
}

std::vector<std::string> gather_texts(Exchange& exchange, const std::string& mine) {
  const auto size = static_cast<double>(mine.size());
  std::vector<double> sizes(static_cast<size_t>(exchange.ranks()));
  gather(exchange, {&size, 1}, sizes);
  std::vector<std::string> texts(sizes.size());
  for (size_t rank = 0; rank < texts.size(); ++rank) texts[rank].resize(static_cast<size_t>(sizes[rank]));
  visit_others(exchange, [&](int rank) {
    exchange.receive(rank, std::as_writable_bytes(std::span(texts[static_cast<size_t>(rank)])));
  });
  visit_others(exchange, [&](int rank) { exchange.send(rank, bytes_of(mine)); });
  texts[static_cast<size_t>(exchange.rank())] = mine;
  exchange.wait();
  return texts;
}

void broadcast(Exchange& exchange, std::span<std::byte> bytes) {
  if (exchange.rank() == 0)
    visit_others(exchange, [&](int rank) { exchange.send(rank, bytes); });
  else
    exchange.receive(0, bytes);
  exchange.wait();
}

std::string broadcast_text(Exchange& exchange, const std::string& of_rank_0) {
  int64_t size = std::ssize(of_rank_0);
  broadcast(exchange, std::as_writable_bytes(std::span(&size, 1)));
  std::string text = of_rank_0;
  text.resize(static_cast<size_t>(size));
  broadcast(exchange, std::as_writable_bytes(std::span(text)));
  return text;
}

void barrier(Exchange* exchange) {
  if (exchange == nullptr) return;
  std::vector<double> all(static_cast<size_t>(exchange->ranks()));
  const double here = 1;
  gather(*exchange, {&here, 1}, all);
}

}  // namespace plimsoll
