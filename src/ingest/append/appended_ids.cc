#include "ingest/append/appended_ids.h"

#include <limits>
#include <optional>

#include "base/hash64.h"
#include "ingest/append/checked_column.h"

namespace plimsoll {
namespace {

constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();

}  // namespace

AppendedIds::AppendedIds(const BaseGraph& base, const GraphScratch& scratch, uint64_t seed)
    : base_(base), scratch_(scratch), seed_(seed) {
  const GraphView& view = base.view;
  new_ = scratch.sort("new_nodes", GraphScratch::kNodes, sizeof(uint32_t), kUnbounded);
  if (view.has_names()) {
    texts_ = std::make_unique<UniqueTexts>(scratch.folder, "texts", scratch.memory / 5, scratch.files);
    CheckedColumn ends(view.set(), "node_name_ptr");
    CheckedColumn names(view.set(), "node_name");
    for (int64_t node = 0; node < view.nodes(); ++node) {
      ends.read_to(node + 2);
      names.read_to(view.name_ptr()[static_cast<size_t>(node) + 1]);
      texts_->add(view.name(node));
      scratch.tick_at(node);
    }
    ends.finish();
    names.finish();
  } else {
    numbers_ = scratch.unique_sort("ids", GraphScratch::kIds, kUnbounded);
    CheckedColumn ids(view.set(), "node_id");
    for (int64_t node = 0; node < view.nodes(); ++node) {
      ids.read_to(node + 1);
      numbers_->add(static_cast<uint64_t>(view.id(node)));
      scratch.tick_at(node);
    }
    ids.finish();
  }
}

void AppendedIds::add(uint64_t id, std::string_view text) {
  if (texts_)
    texts_->add(text);
  else
    numbers_->add(id);
}

void AppendedIds::number(InsertedNodes& nodes, GraphWriter& writer) {
  if (texts_)
    number_texts(nodes, writer);
  else
    number_numbers(nodes, writer);
  new_->seal();
  new_nodes_ = std::make_unique<NodeIndex>(new_, true, nodes.count());
}

void AppendedIds::number_numbers(InsertedNodes& nodes, GraphWriter& writer) {
  const GraphView& view = base_.view;
  numbers_->seal();
  int64_t old = 0;
  uint32_t added = 0;
  const auto write = [&](int64_t id) { writer.append_node_id(std::span<const int64_t>(&id, 1)); };
  for (ExternalSort::Reader ids = numbers_->read(); ids.next();) {
    scratch_.tick_at(old + added);
    const auto id = static_cast<int64_t>(ids.key());
    if (old < view.nodes() && view.id(old) == id) {
      ++old;
      if (added > 0) write(id);
      continue;
    }
    // The column is shared unless there is a new ID, so the old ones before it are written now.
    for (int64_t node = 0; added == 0 && node < old; ++node) {
      scratch_.tick_at(node);
      write(view.id(node));
    }
    write(id);
    nodes.add(old);
    new_->add(ids.key(), &added);
    ++added;
  }
  if (added == 0) writer.share(view, "node_id", scratch_.tick);
  index_ = std::make_unique<NodeIndex>(numbers_, false, nodes.nodes());
}

void AppendedIds::number_texts(InsertedNodes& nodes, GraphWriter& writer) {
  const GraphView& view = base_.view;
  auto hashes = scratch_.sort("hashes", GraphScratch::kNodes, sizeof(uint32_t), kUnbounded);
  int64_t old = 0;
  uint32_t node = 0;
  uint32_t added = 0;
  texts_->take([&](std::string_view text) {
    scratch_.tick_at(node);
    const uint64_t hash = hash64(text, seed_);
    hashes->add(hash, &node);
    ++node;
    if (old < view.nodes() && view.name(old) == text) {
      ++old;
      if (added > 0) writer.append_node_name(text);
      return;
    }
    for (int64_t before = 0; added == 0 && before < old; ++before) {
      scratch_.tick_at(before);
      writer.append_node_name(view.name(before));
    }
    writer.append_node_name(text);
    nodes.add(old);
    new_->add(hash, &added);
    ++added;
  });
  texts_.reset();
  if (added == 0)
    for (const char* column : {"node_name_ptr", "node_name"}) writer.share(view, column, scratch_.tick);
  hashes->seal();
  std::optional<uint64_t> last;
  int64_t read = 0;
  for (ExternalSort::Reader reader = hashes->read(); reader.next(); last = reader.key()) {
    scratch_.tick_at(read++);
    if (last == reader.key()) throw HashCollision();
  }
  index_ = std::make_unique<NodeIndex>(std::move(hashes), true, nodes.nodes());
}

}  // namespace plimsoll
