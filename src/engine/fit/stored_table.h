#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "engine/blocks/row_marks.h"
#include "engine/fit/optimizer.h"
#include "memory/vector.h"
#include "nn/parameters.h"
#include "rows/versioned_rows.h"

namespace plimsoll {

/// A table of embeddings and its moments on a disk (rows/versioned_rows.h). A parameter and the optimizer's
/// state have a number of slots, each of which holds one row. The rows that the blocks of a step look up are
/// in slots during the step, and stay there until rows of later steps need the slots. A row that a step
/// changed is written when it leaves its slot, or at a checkpoint. The rows have the same bits for any
/// number of slots.
///
/// Until start() there is no file, and all rows are 0, so that a plan can run blocks. hold(), read() and
/// expect() may be called on several threads at once; other functions only between two steps.
class StoredTable final : public StoredRows {
 public:
  /// The sizes of the table, and the number of slots: at least the maximum number of rows that a step looks
  /// up. The model's `seed` determines the initial rows.
  struct Options {
    VersionedSizes sizes = {};
    int64_t slots = 0;
    uint64_t seed = 0;
    std::filesystem::path folder = {};  ///< Folder of the stage.
  };
  /// A table in memory, as a checkpoint has it: f32 [R, F] each.
  struct WholeTable {
    std::span<const float> weights, best;
    std::vector<std::span<const float>> moments;
  };
  /// The parameter, which is the first of its model (nn/gnn.h).
  static constexpr const char* kName = "embedding.weight";
  static constexpr const char* kFile = "embedding.rows";

  /// Errors: BudgetExceeded.
  explicit StoredTable(const Options& options);

  /// Connects the table to the slots of its parameter and to the state of its optimizer, whose tensors it
  /// shares. Errors: Failure if the optimizer has another number of moments.
  void attach(const ParameterList& parameters, const Optimizer& optimizer);
  /// Creates the file, with the rows of start_from() if it was called. Errors: those of
  /// VersionedRows::create().
  void start();
  /// Opens the file of an earlier process. `places` is the result of before_checkpoint() in the checkpoint.
  /// Errors: those of VersionedRows::open().
  void resume(std::span<const std::byte> places);
  /// Creates the file from a table that an earlier process had in memory. Errors: those of start().
  void take(const WholeTable& whole);
  bool has_started() const { return file_.is_open(); }
  /// Names of the moments in the optimizer's state, in the order of WholeTable::moments.
  const std::vector<std::string>& moment_names() const { return moment_names_; }
  /// Returns whether a name of the optimizer's state is that of a moment of the table, parameter 0.
  static bool is_moment_of_table(const std::string& name) { return name.ends_with(".0"); }
  /// Whether the stage in this folder has a table on a disk.
  static bool is_in(const std::filesystem::path& folder) { return std::filesystem::exists(folder / kFile); }

  int64_t rows() const override { return options_.sizes.rows; }
  int64_t slots() const override { return options_.slots; }
  /// Bytes of memory for each row of the table, and for each row in memory in addition to its numbers.
  static constexpr int64_t kBytesPerRow = 5;
  static constexpr int64_t kBytesPerSlot = 25;
  /// Bytes of the file, and the part of them that a model file with all rows gets at the end.
  int64_t file_bytes() const { return VersionedRows::file_bytes(options_.sizes); }
  int64_t reserved_bytes() const { return VersionedRows::export_bytes(options_.sizes); }
  int64_t numbers() const { return options_.sizes.rows * options_.sizes.width; }
  at::Tensor hold(const at::Tensor& ids) override;
  at::Tensor read(const at::Tensor& ids) override;
  /// Asks the system to read the rows of a later block soon: `numbers` has the bits of their indices, each a
  /// u32 (rows/node_numbers.h). Does nothing before start().
  void expect(std::span<const float> numbers);
  std::span<const uint32_t> row_of_slots() const override { return row_of_; }
  void start_from(std::span<const float> weights, std::shared_ptr<const void> owner) override;
  void read_all(const std::function<void(std::span<const float>)>& take) override;

  /// Call it after each step that was applied. `slots_changed` are the slots that it changed.
  void end_step(const RowMarks& slots_changed);
  /// Makes the weights of all rows the best, or the best the current. Errors: Failure.
  void keep_best();
  void restore_best();
  /// Writes all changed rows to the disk. Returns the bytes that a checkpoint must hold, one per row; they
  /// are valid until the table changes. Errors: Failure.
  std::span<const std::byte> before_checkpoint();
  /// Call it when the checkpoint is written: from then on, rows of earlier checkpoints may be overwritten.
  void after_checkpoint();
  /// Frees the disk space that was kept for a model file with all rows. Errors: Failure.
  void free_reserve() { file_.free_reserve(); }

  /// Bytes of rows read and written since start().
  int64_t bytes_read() const { return bytes_read_; }
  int64_t bytes_written() const { return bytes_written_; }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  static constexpr uint32_t kWanted = kNone - 1;
  enum Flag : uint8_t { changed = 1, recent = 2 };

  std::span<float> weights_of(uint32_t slot) const;
  void gather_moments(uint32_t slot);
  void write_weights(std::span<const float> weights);
  void want(std::span<const int64_t> rows);
  void load_wanted();
  void take_slots();
  void drop_wanted();
  void store(uint32_t slot);
  void store(std::span<uint32_t> slots);
  uint32_t free_slot();
  void flush();
  void forget();

  const Options options_;
  VersionedRows file_;
  at::Tensor weights_;               // f32 [slots, F]
  std::vector<at::Tensor> moments_;  // each f32 [slots, F]
  std::vector<std::string> moment_names_;
  Mutex mutex_;
  // By row; kNone: not in a slot; kWanted: not in a slot, and in wanted_.
  Vector<uint32_t, Tag::parameters> slot_of_;
  Vector<uint32_t, Tag::parameters> row_of_;   // By slot; kNone: unused.
  Vector<uint64_t, Tag::parameters> step_of_;  // By slot: the step that used it last.
  Vector<uint8_t, Tag::parameters> flags_;     // By slot.
  Vector<float, Tag::parameters> one_row_;     // The moments of a row, and its weights.
  Vector<uint32_t, Tag::parameters> wanted_;   // Rows to load, and the slot of each.
  Vector<uint32_t, Tag::parameters> taken_;
  Vector<uint32_t, Tag::parameters> changed_;  // Slots to write.
  size_t wanted_count_ = 0;
  uint64_t step_ = 1;
  uint32_t hand_ = 0;  // The next slot that may be emptied.
  int64_t bytes_read_ = 0;
  int64_t bytes_written_ = 0;
  std::span<const float> given_;  // The argument of start_from().
  std::shared_ptr<const void> owner_of_given_;
};

}  // namespace plimsoll
