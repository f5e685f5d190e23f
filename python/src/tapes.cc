#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <optional>

#include "base/error.h"
#include "device_scope.h"
#include "engine/plan/operation_names.h"
#include "memory/tape.h"
#include "memory/tape_model.h"
#include "memory/tape_profile.h"
#include "ops/allocator.h"
#include "telemetry/memory_snapshot.h"
#include "torch_bindings.h"

namespace plimsoll {
namespace {

using Profile = std::tuple<int64_t, std::string, std::vector<std::pair<std::string, int64_t>>, int32_t,
                           std::vector<int32_t>, std::vector<std::string>, std::vector<std::vector<int64_t>>>;

Profile profile_of(const Tape& tape, const std::vector<int64_t>& bytes) {
  TapeProfile profile = profile_tape(tape, bytes);
  return {profile.peak, profile.operation, profile.at_peak, profile.events,
          profile.at,   profile.modules,   profile.series};
}

// Allocates each tensor separately, because there is no plan.
nb::bytes snapshot_of(const Tape& tape, const std::vector<int64_t>& bytes) {
  std::vector<int64_t> places;
  int64_t end = 0;
  for (const int64_t size : bytes) {
    places.push_back(end);
    end += size;
  }
  const std::string pickle = pickled(memory_snapshot(tape, bytes, places));
  return nb::bytes(pickle.data(), pickle.size());
}

// The modules that this thread is in, the innermost last.
thread_local std::vector<std::unique_ptr<ModuleScope>> modules;

// Returns the operation that reached a peak; empty without pieces.
std::string operation_of(const Tape& tape, const Tape::Peak& peak) {
  return std::string(peak.piece < 0 ? "" : tape.pieces[static_cast<size_t>(peak.piece)].operation);
}

/// Records what this thread's tensors allocate and free, from begin() to end(): those on the CPU, or on a
/// device.
class Recording {
 public:
  void begin(const PythonDevice* device) {
    if (TapeScope::current() != nullptr) throw UsageError("this thread is already recording a tape");
    recorder_.emplace();
    names_ = std::make_unique<NameOperations>();
    on_device_ = device != nullptr;
    if (on_device_)
      device_scope_ = device->scope(&*recorder_);
    else
      scope_ = std::make_unique<TapeScope>(*recorder_);
  }

  /// Sizes are those that the ledger records, or, for a device, the bytes that allocations use in its region.
  void end() {
    device_scope_.reset();
    scope_.reset();
    names_.reset();
    tape_ = std::move(recorder_.value().tape);
    recorder_.reset();
    for (Tape::Piece& piece : tape_.pieces) {
      if (on_device_)
        piece.bytes = piece.room;
      else if (piece.bytes > 0)
        piece.bytes += piece.pieces * tensor_heap_bytes(1) - piece.pieces;
    }
  }

  const Tape& tape() const { return tape_; }
  AllocationSizes rooms() const { return on_device_ ? PythonDevice::kRooms : AllocationSizes(); }
  /// Bytes that a BlockMemory for all tensors needs.
  int64_t packed() const { return packed_as_they_come(tape_); }
  std::pair<int64_t, std::string> peak() const {
    const Tape::Peak peak = tape_.peak();
    return {peak.bytes, operation_of(tape_, peak)};
  }

  /// Bytes by module, and a snapshot for pytorch.org/memory_viz.
  Profile by_module() const { return profile_of(tape_, bytes()); }
  nb::bytes snapshot() const { return snapshot_of(tape_, bytes()); }

  /// Bytes held at the peak, by the operation that allocated them.
  std::vector<std::pair<std::string, int64_t>> held_at_peak() const {
    const Tape::Peak peak = tape_.peak();
    if (peak.piece < 0) return {};
    const int32_t now = tape_.pieces[static_cast<size_t>(peak.piece)].taken;
    std::map<std::string, int64_t> sums;
    for (const Tape::Piece& piece : tape_.pieces)
      if (piece.taken <= now && piece.given > now) sums[std::string(piece.operation)] += piece.bytes;
    return {sums.begin(), sums.end()};
  }

 private:
  std::vector<int64_t> bytes() const {
    std::vector<int64_t> bytes;
    for (const Tape::Piece& piece : tape_.pieces) bytes.push_back(piece.bytes);
    return bytes;
  }

  std::optional<TapeRecorder> recorder_;
  std::unique_ptr<NameOperations> names_;
  std::unique_ptr<TapeScope> scope_;
  std::unique_ptr<DeviceRangeScope> device_scope_;
  bool on_device_ = false;
  Tape tape_;
};

/// The common structure of tapes, as a function of a batch's terms.
class Model {
 public:
  Model(const std::vector<const Recording*>& recordings, const std::vector<Terms>& terms)
      : model_(probes_of(recordings, terms)) {}

  /// Returns the bytes at the peak, and the operation in which it occurs. If the tapes differ in their
  /// sequence, returns a number of bytes that was sufficient for each recorded tape, and an empty name.
  std::pair<int64_t, std::string> peak(const Terms& terms) const {
    if (!model_.same_sequence()) return {model_.envelope(terms), ""};
    const Tape::Peak peak = model_.peak(terms);
    return {peak.bytes, operation_of(model_.tape(), peak)};
  }
  /// Bytes that a range for all tensors needs.
  int64_t packed(const Terms& terms) const {
    if (!model_.same_sequence()) return model_.envelope(terms);
    Tape tape = model_.tape();
    std::vector<PlannedAllocation> rooms(tape.pieces.size());
    model_.rooms(terms, rooms);
    for (size_t i = 0; i < rooms.size(); ++i) tape.pieces[i].room = rooms[i].bytes;
    return packed_as_they_come(tape);
  }
  const std::string& difference() const { return model_.difference(); }
  bool same_sequence() const { return model_.same_sequence(); }
  Profile by_module(const Terms& terms) const { return profile_of(model_.tape(), model_.sizes(terms)); }
  nb::bytes snapshot(const Terms& terms) const { return snapshot_of(model_.tape(), model_.sizes(terms)); }

 private:
  static TapeProbes probes_of(const std::vector<const Recording*>& recordings,
                              const std::vector<Terms>& terms) {
    if (recordings.size() != terms.size()) throw UsageError("a tape's model needs terms for each tape");
    TapeProbes probes(recordings.empty() ? AllocationSizes() : recordings.front()->rooms());
    for (size_t i = 0; i < terms.size(); ++i) probes.add(recordings[i]->tape(), terms[i]);
    return probes;
  }
  TapeModel model_;
};

}  // namespace

void bind_tapes(nb::module_& module) {
  nb::class_<Recording>(module, "Recording")
      .def(nb::init<>())
      .def("begin", &Recording::begin, nb::arg("device") = nb::none())
      .def("end", &Recording::end)
      .def("peak", &Recording::peak)
      .def("packed", &Recording::packed)
      .def("by_module", &Recording::by_module)
      .def("snapshot", &Recording::snapshot)
      .def("held_at_peak", &Recording::held_at_peak);
  nb::class_<Model>(module, "TapeModel")
      .def(nb::init<const std::vector<const Recording*>&, const std::vector<Terms>&>())
      .def("peak", &Model::peak)
      .def("packed", &Model::packed)
      .def("by_module", &Model::by_module)
      .def("snapshot", &Model::snapshot)
      .def_prop_ro("same_sequence", &Model::same_sequence)
      .def_prop_ro("difference", &Model::difference);
  module.def("enter_module",
             [](const std::string& name) { modules.push_back(std::make_unique<ModuleScope>(name)); });
  module.def("leave_module", [] {
    if (!modules.empty()) modules.pop_back();
  });
}

}  // namespace plimsoll
