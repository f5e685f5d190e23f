#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/json.h"
#include "detect/stream_detector.h"

namespace plimsoll {

/// Alarms as incidents: windows that follow each other within a gap are one, told when it starts, once a
/// minute while it lasts, and when it is over (docs/detect.md#incidents). Prints JSON lines to stdout. Not
/// thread-safe.
class Incidents {
 public:
  struct Options {
    std::string source;
    std::string vehicle;
    std::string detector;  ///< XXH3-64 of its file
    float threshold = 0;
    int64_t gap_ns = 1'000'000'000;
    std::map<uint32_t, std::string> names;  ///< of messages
  };
  explicit Incidents(Options options) : options_(std::move(options)) {}

  /// A window was judged. Errors: Failure where standard output takes nothing more.
  void add(const Verdict& verdict, const StreamDetector& detector);
  /// Another recording, or the end: what is open is over.
  void end();
  int64_t count() const { return number_; }

 private:
  void print(const char* state);
  std::string name_of(uint32_t can_id) const;

  static constexpr size_t kMostIds = 16;

  Options options_;
  int64_t number_ = 0;
  bool open_ = false;
  int64_t start_ns_ = 0;
  int64_t end_ns_ = 0;   // the last alarm
  int64_t told_ns_ = 0;  // when a line was printed last
  int64_t windows_ = 0;
  float worst_ = 0;
  std::string part_;                 // of the worst score
  std::map<uint32_t, int64_t> ids_;  // alarms that an ID is named in
};

}  // namespace plimsoll
