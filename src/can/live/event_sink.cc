#include "can/live/event_sink.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "base/error.h"
#include "base/json_text.h"

extern char** environ;

namespace plimsoll {

void print_event(const std::string& line) {
  const std::string whole = line + '\n';
  if (std::fwrite(whole.data(), 1, whole.size(), stdout) != whole.size() || std::fflush(stdout) != 0)
    throw Failure(fmt::format("standard output: {}; incidents are lost", std::strerror(errno)));
}

// Avoids fmt::print, which throws if standard error is gone.
EventSink::~EventSink() {
  for (int i = 0; i < 500 && !running_.empty(); ++i) {
    collect();
    constexpr timespec kPause{0, 20'000'000};
    if (!running_.empty()) ::nanosleep(&kPause, nullptr);
  }
  if (!running_.empty())
    std::fprintf(stderr, "plimsoll: %zu commands of --on-event are still running\n", running_.size());
}

// Windows follow the traffic's clock, so that the same capture gives the same events. The clocks of channels
// differ a little: an event of the previous window counts in the current one.
bool EventSink::is_held_back(int64_t time_ns, size_t bytes) {
  const int64_t window = time_ns / options_.window_ns;
  if (window > window_ || window < window_ - 1) {
    window_ = window;
    reported_ = bytes_ = 0;
  }
  if (options_.max > 0 && reported_ >= options_.max) {
    ++counts_.over_rate;
    return true;
  }
  if (options_.max_bytes > 0 && bytes_ + static_cast<int64_t>(bytes) > options_.max_bytes) {
    ++counts_.over_bytes;
    return true;
  }
  ++reported_;
  bytes_ += static_cast<int64_t>(bytes);
  return false;
}

std::string EventSink::text_of(const Incident& incident) const {
  if (options_.format == EventFormat::syslog) return event_syslog(incident, options_.context);
  if (options_.format == EventFormat::ocsf) return json_text(event_ocsf(incident, options_.context));
  return json_text(event_json(incident, options_.context));
}

void EventSink::report(const Incident& incident) {
  EventContext& context = options_.context;
  context.filtered += incident.filtered;
  const std::string text = text_of(incident);
  if (is_held_back(incident.end_ns, text.size() + 1)) {
    ++context.suppressed;
    return;
  }
  context.suppressed = context.filtered = 0;
  ++counts_.events;
  print_event(text);
  if (!options_.command.empty()) run_command(text, state_name(incident.state));
}

void EventSink::run_command(const std::string& text, const char* state) {
  collect();
  const auto fail = [&](const char* what, int reason) {
    fmt::print(stderr, "plimsoll: --on-event: {} ({})\n", what, std::strerror(reason));
  };
  if (running_.size() == kMaxRunning)
    return fail("16 commands are still running; this event is not passed on", EAGAIN);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail("cannot create a pipe", errno);
  // An event fits into a pipe, so writing need not wait for a reader.
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
  const std::string line = text + '\n';
  const bool written = ::write(ends[1], line.data(), line.size()) == static_cast<ssize_t>(line.size());
  ::close(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);  // Only events go to stdout.
  std::string shell = "sh", option = "-c", name = state;
  char* arguments[] = {shell.data(), option.data(), options_.command.data(), name.data(), nullptr};
  pid_t child = 0;
  const int refused =
      written ? posix_spawn(&child, "/bin/sh", &actions, nullptr, arguments, environ) : EMSGSIZE;
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[0]);
  if (refused != 0) return fail("the command cannot be started", refused);
  running_.push_back(child);
}

void EventSink::collect() {
  std::erase_if(running_, [](pid_t child) {
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) != child) return false;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
      std::fprintf(stderr, "plimsoll: --on-event: the command ended with %d\n",
                   WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    return true;
  });
}

}  // namespace plimsoll
