#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <optional>

#include "base/error.h"
#include "memory/tape.h"
#include "memory/tape_model.h"
#include "ops/allocator.h"
#include "torch_bindings.h"
#include "train/plan/operation_names.h"

namespace plimsoll {
namespace {

/// Writes down what this thread's tensors take and give back, from begin() to end(), on one thread.
class Recording {
 public:
  void begin() {
    if (TapeScope::current() != nullptr) throw UsageError("a tape is being recorded on this thread already");
    recorder_.emplace();
    names_ = std::make_unique<NameOperations>();
    scope_ = std::make_unique<TapeScope>(*recorder_);
  }

  /// Sizes become those that the ledger enters.
  void end() {
    scope_.reset();
    names_.reset();
    tape_ = std::move(recorder_.value().tape);
    recorder_.reset();
    for (Tape::Piece& piece : tape_.pieces)
      if (piece.bytes > 0) piece.bytes += piece.pieces * heap_bytes(1) - piece.pieces;
  }

  const Tape& tape() const { return tape_; }
  /// Bytes of a BlockMemory that hold all.
  int64_t packed() const { return packed_as_they_come(tape_); }
  std::pair<int64_t, std::string> peak() const {
    const Tape::Peak peak = tape_.peak();
    return {peak.bytes, peak.piece < 0 ? "" : tape_.pieces[static_cast<size_t>(peak.piece)].operation};
  }

  /// Bytes held at the peak, by the operation that asked for them.
  std::vector<std::pair<std::string, int64_t>> held_at_peak() const {
    const Tape::Peak peak = tape_.peak();
    if (peak.piece < 0) return {};
    const int32_t now = tape_.pieces[static_cast<size_t>(peak.piece)].taken;
    std::map<std::string, int64_t> sums;
    for (const Tape::Piece& piece : tape_.pieces)
      if (piece.taken <= now && piece.given > now) sums[piece.operation] += piece.bytes;
    return {sums.begin(), sums.end()};
  }

 private:
  std::optional<TapeRecorder> recorder_;
  std::unique_ptr<NameOperations> names_;
  std::unique_ptr<TapeScope> scope_;
  Tape tape_;
};

/// What tapes have in common, as a function of a batch's terms.
class Model {
 public:
  Model(const std::vector<const Recording*>& recordings, const std::vector<Terms>& terms)
      : model_(tapes_of(recordings), terms) {}

  /// Bytes at the peak, and the operation that comes to it; what suffices as far as was seen, and none, where
  /// the tapes are not one sequence.
  std::pair<int64_t, std::string> peak(const Terms& terms) const {
    if (!model_.same_sequence()) return {model_.envelope(terms), ""};
    const Tape::Peak peak = model_.peak(terms);
    return {peak.bytes,
            peak.piece < 0 ? "" : model_.tape().pieces[static_cast<size_t>(peak.piece)].operation};
  }
  const std::string& difference() const { return model_.difference(); }

 private:
  static std::vector<Tape> tapes_of(const std::vector<const Recording*>& recordings) {
    std::vector<Tape> tapes;
    for (const Recording* recording : recordings) tapes.push_back(recording->tape());
    return tapes;
  }
  TapeModel model_;
};

}  // namespace

void bind_tapes(nb::module_& module) {
  nb::class_<Recording>(module, "Recording")
      .def(nb::init<>())
      .def("begin", &Recording::begin)
      .def("end", &Recording::end)
      .def("peak", &Recording::peak)
      .def("packed", &Recording::packed)
      .def("held_at_peak", &Recording::held_at_peak);
  nb::class_<Model>(module, "TapeModel")
      .def(nb::init<const std::vector<const Recording*>&, const std::vector<Terms>&>())
      .def("peak", &Model::peak)
      .def_prop_ro("difference", &Model::difference);
}

}  // namespace plimsoll
