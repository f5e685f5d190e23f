#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "train/detector_file.h"
#include "train/stage_teacher.h"

namespace plimsoll {

/// What a student's stage keeps of its teacher: a column of what it said, or its model, which is asked while
/// the student trains. A GAT says its Classification, an autoencoder its Encodings.
class Teaching {
 public:
  /// cached
  explicit Teaching(TeacherSource column);
  /// live
  explicit Teaching(Detector teacher);
  /// offload, for the student of this split; the rest as BatchTeacher.
  Teaching(Detector teacher, std::function<void()> release, std::span<const GraphShape> shapes,
           const TrainingSplit& split, const Recipe::Training& training);
  Teaching(const Teaching&) = delete;
  Teaching& operator=(const Teaching&) = delete;

  StageTeacher of();

 private:
  std::optional<TeacherSource> column_;
  Detector model_;
  std::unique_ptr<Objective> says_;
  std::optional<BatchTeacher> batches_;
};

}  // namespace plimsoll
