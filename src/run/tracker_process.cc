#include "run/tracker_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "run/python_program.h"

namespace plimsoll {
namespace {

// Starts a process in a new session, so that signals from the terminal to the training do not reach it.
// Returns 0 or an error number.
int start(const std::vector<std::string>& words, int socket, int* process) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, socket, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, socket, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  const int error = posix_spawnp(process, arguments.front(), &files, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  return error;
}

// Reads up to the end of the first line.
std::string first_line(int socket) {
  std::string line;
  std::array<char, 1024> chunk;
  while (line.find('\n') == std::string::npos) {
    const ssize_t got = ::read(socket, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    line.append(chunk.data(), static_cast<size_t>(got));
  }
  return line.substr(0, line.find('\n'));
}

}  // namespace

TrackerProcess::TrackerProcess(const std::filesystem::path& run, const std::vector<std::string>& trackers) {
  std::vector<std::string> words = {python_program(), "-m", "plimsoll.sync",
                                    std::filesystem::absolute(run).string(), "--beside-training"};
  for (const std::string& tracker : trackers) words.insert(words.end(), {"--tracker", tracker});
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw system_failure("cannot make", "a socket for plimsoll sync");
  socket_ = ends[0];
  const int error = start(words, ends[1], &process_);
  ::close(ends[1]);
  constexpr std::string_view kError = "error ";
  const std::string answer = error == 0 ? first_line(socket_) : "";
  if (answer == "ready") return;
  ::close(socket_);
  if (error == 0) ::waitpid(process_, nullptr, 0);
  if (answer.starts_with(kError)) throw UsageError(answer.substr(kError.size()));
  throw UsageError(
      fmt::format("run.trackers: `{} -m plimsoll.sync` did not start{}; set PLIMSOLL_PYTHON to a Python "
                  "interpreter that has the package plimsoll (pip install plimsoll)",
                  words.front(), error == 0 ? "" : fmt::format(": {}", std::strerror(error))));
}

TrackerProcess::~TrackerProcess() {
  ::close(socket_);
  ::waitpid(process_, nullptr, WNOHANG);  // The process continues; do not wait for it.
}

void TrackerProcess::follow() const {
  const std::string_view word = "go\n";
  [[maybe_unused]] const ssize_t sent = ::send(socket_, word.data(), word.size(), MSG_NOSIGNAL);
}

}  // namespace plimsoll
