#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <span>

#include "engine/blocks/exchange.h"
#include "engine/blocks/rank_messages.h"
#include "engine/predict/layer_outputs.h"
#include "engine/predict/rank_rounds.h"

namespace plimsoll {

/// The outputs of one layer, which several ranks compute. Each rank computes some pieces, sends their rows to
/// all other ranks in rounds while it computes the next ones, and writes the rows of all ranks to a file of
/// its own. So no disk has to be shared. Not thread-safe.
class SharedLayer final : public LayerOutputs {
 public:
  /// `path` is an existing file with space for all rows, f32 [V, width]. All arguments must outlive the
  /// object. Errors: BudgetExceeded, Failure.
  SharedLayer(const Pieces& pieces, const NeededPieces& needed, int ranks, int64_t width,
              const std::filesystem::path& path);

  /// The maximum number of bytes that a rank sends for a layer.
  int64_t max_bytes_sent() const;

  /// Connects this rank to the others; call it before the functions below. Returns the pieces that this rank
  /// computes, which are valid as long as the object is.
  const NeededPieces& join(Exchange& exchange);
  /// Sends rounds without rows of this rank. Errors: those of add().
  void begin() override;
  /// Writes the rows, and sends those of a round once they are complete, unless that was done before the last
  /// begin(). Errors: Failure (disk); if another rank had an error, those of RankMessages.
  void add(int64_t first, std::span<const float> rows) override;
  int64_t estimate_done(int64_t node) const override;
  /// Finishes the layer on all ranks. Afterwards the file has the rows of all ranks. `error` is what ended
  /// this rank's part, or null. Errors: `error`; those of add().
  void finish(const std::exception_ptr& error);

 private:
  RankMessages& messages(int64_t round) { return messages_[static_cast<size_t>(round % 2)]; }
  void send_full_rounds();
  void send_round(const std::exception_ptr& error);
  void receive_round();
  void write_rows_of_others(int64_t round);

  const Pieces& pieces_;
  const NeededPieces& needed_;
  const int64_t width_;
  const int ranks_;
  const RankRounds rounds_;
  std::array<RankMessages, 2> messages_;  // Messages of the current round and of the one before it.
  LayerFile file_;
  Exchange* exchange_ = nullptr;
  NeededPieces own_;
  int64_t round_ = 0;          // The round whose rows this rank computes.
  int64_t filled_ = 0;         // Rows of that round so far.
  bool is_in_flight_ = false;  // Whether the messages of the round before it are on their way.
  bool has_ended_ = false;     // Whether the exchange failed, so that nothing can be exchanged any more.
};

}  // namespace plimsoll
