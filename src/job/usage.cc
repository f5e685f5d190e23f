#include "job/usage.h"

#include <sys/resource.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace plimsoll {
namespace {

double seconds_of(const timeval& time) {
  constexpr double kMicro = 1e-6;
  return static_cast<double>(time.tv_sec) + kMicro * static_cast<double>(time.tv_usec);
}

Json variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? Json(value) : Json();
}

}  // namespace

Json usage_json() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  Json usage = {{"cpu_seconds", seconds_of(used.ru_utime) + seconds_of(used.ru_stime)},
                {"read_bytes", nullptr},
                {"written_bytes", nullptr},
                {"major_faults", used.ru_majflt},
                {"slurm_job", variable("SLURM_JOB_ID")},
                {"slurm_restart", variable("SLURM_RESTART_COUNT")}};
  std::ifstream io("/proc/self/io");
  for (std::string name, value; io >> name >> value;) {
    if (name == "read_bytes:") usage["read_bytes"] = std::stoll(value);
    if (name == "write_bytes:") usage["written_bytes"] = std::stoll(value);
  }
  return usage;
}

}  // namespace plimsoll
