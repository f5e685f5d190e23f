#include "memory/limits.h"

#include "base/units.h"
#include "fuzz/property.h"
#include "fuzz/scratch.h"

// The input is the files of /proc and /sys with memory limits, one after the other, each ended by a line
// "--".
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  static const bool folders = [] {
    for (const char* folder : {"proc/self", "sys/fs/cgroup/memory/job", "sys/fs/cgroup/job"})
      std::filesystem::create_directories(Scratch::folder() / folder);
    return true;
  }();
  expect(folders, "there are folders");
  std::string_view text = text_of(data, size);
  for (const char* name :
       {"proc/self/cgroup", "proc/meminfo", "sys/fs/cgroup/memory/job/memory.limit_in_bytes",
        "sys/fs/cgroup/memory/job/memory.stat", "sys/fs/cgroup/job/memory.max",
        "sys/fs/cgroup/job/memory.stat", "sys/fs/cgroup/memory/memory.stat"}) {
    const size_t end = text.find("--\n");
    Scratch::write(name, text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 3);
  }
  succeeds([] {
    const std::vector<Limit> limits = find_limits(Scratch::folder().string());
    for (const Limit& limit : limits)
      expect(!limit.source.empty() && limit.bytes > 0 && limit.others >= 0,
             "a limit is above 0 and others hold no less");
    expect(default_budget(limits) >= kMiB, "there is some budget");
  });
  return 0;
}
