#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

#include "can/capture/capture_format.h"
#include "can/capture/truncation.h"
#include "can/write/capture_writer.h"

namespace plimsoll {

struct ConvertOptions {
  std::filesystem::path source;  ///< A `frames` set or a capture, which must be a file.
  std::filesystem::path out;
  const WrittenFormat* to = nullptr;        ///< Format to write. Must not be null.
  bool force = false;                       ///< Replace an existing output.
  std::vector<std::string> leave_out = {};  ///< Same as WriteOptions::leave_out.
  FormatOptions format = {};                ///< Format of the source if it is a capture.
  /// Maximum number of threads that read and parse the source if it is a capture.
  int threads = 1;
};

struct ConvertResult {
  std::filesystem::path out;  ///< The file, or the folder of files.
  int64_t recordings = 0;
  int64_t frames = 0;   ///< Number of frames of the source, including those left out.
  bool labels = false;  ///< Each frame is followed by its label (candump).
  bool fd = false;      ///< Frames have 64 payload bytes, so `ingest can` may need --payload 64.
  bool merged = false;  ///< Whether `ingest can` needs --merge-channels to read the output.
  WriteLosses losses;
  std::optional<Truncation> truncation = {};  ///< Place at which the capture is cut off.
};

/// Converts a `frames` set to a folder of captures with one file SPLIT/NAME.ending per recording, which
/// `ingest can` reads back to the same columns, except for ConvertResult::losses. `progress`, which must not
/// be null, receives the number of frames done and in total. Throws InputError for a damaged set and, with
/// the name of the recording, if it has no times or no payloads, if its name cannot become that of a file, if
/// only some recordings have labels (candump), or if CaptureWriter refuses a frame. Also throws UsageError,
/// Failure and BudgetExceeded. On an error the output is unchanged.
ConvertResult convert_frames(const ConvertOptions& options,
                             const std::function<void(int64_t, int64_t)>& progress);

/// Converts a capture to another format, with all its channels, in the order of its frames. The output is the
/// file `out`, or a file in the folder `out` if `out` does not end like the name of a capture. Memory does
/// not grow with the capture. `progress`, which must not be null, receives the number of source bytes done
/// and in total; with kChosenPayload it starts again if a frame is too long for 8 bytes. Throws UsageError if
/// `out` has the ending of a compressed file, Failure if it exists and may not be replaced, and the errors of
/// reading and of CaptureWriter. On an error the output is unchanged.
ConvertResult convert_capture(const ConvertOptions& options,
                              const std::function<void(int64_t, int64_t)>& progress);

}  // namespace plimsoll
