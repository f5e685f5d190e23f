#include <nanobind/ndarray.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <map>

#include "base/error.h"
#include "base/mutex.h"
#include "bindings.h"
#include "can/live/stream_detector.h"

namespace plimsoll {
namespace {

template <typename T, int kAxes>
using Array = nb::ndarray<const T, nb::ndim<kAxes>, nb::c_contig, nb::device::cpu>;

/// A StreamDetector that accepts batches of frames and returns all results that need no further frames.
class Detector {
 public:
  Detector(const std::filesystem::path& model, const std::string& window, const std::string& stride,
           std::optional<float> threshold, std::optional<double> false_alarms,
           const std::vector<std::string>& adopt)
      : detector_(model, options_of(window, stride, threshold, false_alarms, adopt)) {}

  void begin(bool has_time, bool has_payload, int64_t width, std::vector<std::string> channels) {
    const nb::gil_scoped_release unlocked;
    const MutexLock lock(mutex_);
    channels_ = std::move(channels);
    facts_ = {.has_time = has_time, .has_payload = has_payload, .width = width};
    detector_.begin(facts_);
  }

  std::vector<WindowResult> add(const Array<int64_t, 1>& time_ns, const Array<uint32_t, 1>& can_id,
                                const Array<uint8_t, 1>& length, const Array<uint8_t, 2>& data,
                                const Array<uint8_t, 1>& label, std::optional<Array<uint8_t, 1>> channel) {
    const size_t count = time_ns.size();
    for (const size_t other :
         {can_id.size(), length.size(), data.shape(0), label.size(), channel ? channel->size() : count})
      if (other != count) throw UsageError("columns of frames differ in length; expected one row per frame");
    const nb::gil_scoped_release unlocked;
    const MutexLock lock(mutex_);
    if (static_cast<int64_t>(data.shape(1)) != facts_.width)
      throw UsageError("data has " + std::to_string(data.shape(1)) +
                       " bytes per frame, but the recording started with " + std::to_string(facts_.width));
    FrameSpans frames{.time_ns = {time_ns.data(), count},
                      .can_id = {can_id.data(), count},
                      .length = {length.data(), count},
                      .data = {data.data(), data.size()},
                      .label = {label.data(), count},
                      .width = facts_.width};
    if (channel) frames.channel = {channel->data(), count};
    std::vector<WindowResult> results;
    for (;;) {
      const int64_t taken = detector_.add(frames, channels_);
      gather(results);
      if (taken == frames.size()) return results;
      detector_.end();
      gather(results);
      detector_.begin(facts_);
      frames = frames.part(taken, frames.size() - taken);
    }
  }

  std::vector<WindowResult> end() {
    const nb::gil_scoped_release unlocked;
    const MutexLock lock(mutex_);
    std::vector<WindowResult> results;
    detector_.end();
    gather(results);
    return results;
  }

  float threshold() {
    const nb::gil_scoped_release unlocked;
    const MutexLock lock(mutex_);
    return detector_.threshold();
  }

 private:
  static DetectOptions options_of(const std::string& window, const std::string& stride,
                                  std::optional<float> threshold, std::optional<double> false_alarms,
                                  const std::vector<std::string>& adopt) {
    DetectOptions options{.threshold = threshold, .false_alarms = false_alarms};
    for (const std::string& id : adopt) options.adopted.push_back(adopted_id(id));
    if (!window.empty()) options.window = WindowLength::parse(window);
    if (!stride.empty()) options.stride = WindowLength::parse(stride);
    return options;
  }

  void gather(std::vector<WindowResult>& results) PLIMSOLL_REQUIRES(mutex_) {
    for (WindowResult result; detector_.next(result);) results.push_back(result);
  }

  Mutex mutex_;  // Needed because the interpreter lock is released during calls.
  StreamDetector detector_ PLIMSOLL_GUARDED_BY(mutex_);
  StreamFacts facts_ PLIMSOLL_GUARDED_BY(mutex_);
  std::vector<std::string> channels_ PLIMSOLL_GUARDED_BY(mutex_);
};

std::map<std::string, float> parts_of(const WindowResult& result) {
  std::map<std::string, float> parts;
  if (result.by_part)
    for (size_t i = 0; i < kFusedParts; ++i)
      if (std::isfinite((*result.by_part)[i])) parts[fused_parts()[i].name] = (*result.by_part)[i];
  return parts;
}

}  // namespace

void bind_detection(nb::module_& module) {
  nb::class_<WindowResult>(module, "Verdict")
      .def_prop_ro("number", [](const WindowResult& v) { return v.window.number; })
      .def_prop_ro("first_frame", [](const WindowResult& v) { return v.window.first_frame; })
      .def_prop_ro("frames", [](const WindowResult& v) { return v.window.frames; })
      .def_prop_ro("time_ns", [](const WindowResult& v) { return v.window.time_ns; })
      .def_ro("score", &WindowResult::score)
      .def_ro("alarm", &WindowResult::alarm)
      .def_prop_ro("parts", &parts_of)
      .def_prop_ro("attack",
                   [](const WindowResult& v) { return v.labelled ? std::optional(v.attack) : std::nullopt; });
  nb::class_<Detector>(module, "Detector")
      .def(nb::init<const std::filesystem::path&, const std::string&, const std::string&,
                    std::optional<float>, std::optional<double>, const std::vector<std::string>&>())
      .def("begin", &Detector::begin)
      .def("add", &Detector::add, nb::arg("time_ns"), nb::arg("can_id"), nb::arg("length"), nb::arg("data"),
           nb::arg("label"), nb::arg("channel").none())
      .def("end", &Detector::end)
      .def_prop_ro("threshold", &Detector::threshold);
}

}  // namespace plimsoll
