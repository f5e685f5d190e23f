#include "memory/psi_monitor.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace plimsoll {
namespace {

// The shortest window that the kernel allows to unprivileged processes (EINVAL below it), and a tenth of it,
// in microseconds.
constexpr std::chrono::microseconds kWindow = std::chrono::seconds(2);
constexpr std::chrono::microseconds kShare = kWindow / 10;
constexpr char kTrigger[] = "some 200000 2000000";

// Parses the line "some avg10=0.00 avg60=0.00 avg300=0.00 total=1053775".
std::optional<int64_t> total_stalled(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t at = line.find("total=");
    if (line.starts_with("some ") && at != std::string::npos)
      return std::strtoll(line.c_str() + at + 6, nullptr, 10);
  }
  return std::nullopt;
}

// Writing a trigger to a regular file, as in tests, would change its text.
bool is_kernel_file(int file) {
  struct statfs system {};
  return ::fstatfs(file, &system) == 0 &&
         (system.f_type == PROC_SUPER_MAGIC || system.f_type == CGROUP2_SUPER_MAGIC);
}

}  // namespace

PsiMonitor::PsiMonitor(const std::string& file) : file_(file) {
  trigger_ = ::open(file.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (trigger_ < 0) return;
  if (!is_kernel_file(trigger_) || ::write(trigger_, kTrigger, sizeof(kTrigger)) < 0) close_trigger();
}

PsiMonitor::~PsiMonitor() {
  close_trigger();
}

void PsiMonitor::close_trigger() {
  if (trigger_ >= 0) ::close(trigger_);
  trigger_ = -1;
}

bool PsiMonitor::seen(Time now) {
  if (trigger_ >= 0) {
    ask_trigger(now);
  } else {
    read_total(now);
  }
  return last_ && now - *last_ < kWindow;
}

void PsiMonitor::ask_trigger(Time now) {
  pollfd asked{trigger_, POLLPRI, 0};
  if (::poll(&asked, 1, 0) <= 0) return;
  // POLLERR means that the group is gone. It would be reported again at once, forever.
  if ((asked.revents & POLLERR) != 0) {
    close_trigger();
  } else if ((asked.revents & POLLPRI) != 0) {
    last_ = now;
  }
}

void PsiMonitor::read_total(Time now) {
  if (since_ && now - *since_ < kWindow && total_) {
    const auto stalled = total_stalled(file_);
    if (stalled && *stalled - *total_ >= kShare.count()) last_ = now;
    return;
  }
  total_ = total_stalled(file_);
  since_ = now;
}

}  // namespace plimsoll
