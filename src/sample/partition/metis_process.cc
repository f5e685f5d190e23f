#include "sample/partition/metis_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <metis.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/error.h"
#include "base/shared_library.h"

namespace plimsoll {
namespace {

static_assert(sizeof(idx_t) == sizeof(int32_t) && sizeof(real_t) == sizeof(float),
              "expected METIS with 32-bit numbers, as in Debian");

constexpr idx_t kSeed = 1;

// The functions of METIS, which is loaded when the first graph is partitioned.
class Library {
 private:
  // The first member, because the functions are looked up in it.
  SharedLibrary library_{PLIMSOLL_LIBMETIS, "install that library, or partition by streaming instead"};

 public:
  static const Library& get() {
    static const Library library;
    return library;
  }
  decltype(&METIS_SetDefaultOptions) const set_default_options =
      library_.function<decltype(&METIS_SetDefaultOptions)>("METIS_SetDefaultOptions");
  decltype(&METIS_PartGraphKway) const part_graph_kway =
      library_.function<decltype(&METIS_PartGraphKway)>("METIS_PartGraphKway");

 private:
  Library() = default;
};

class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) throw system_failure("cannot make a pipe to", "METIS");
  }
  ~Pipe() {
    close(0);
    close(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void end_writing() { close(1); }
  // Returns when there is something to read, or when the process at the other end has ended.
  void wait_to_read(const std::function<void()>& tick) const {
    constexpr int kMilliseconds = 50;
    pollfd end{ends_[0], POLLIN, 0};
    int ready = 0;
    while (ready == 0 || (ready < 0 && errno == EINTR)) {
      tick();
      ready = ::poll(&end, 1, kMilliseconds);
    }
  }
  // Both return whether all bytes were transferred.
  bool read(void* to, size_t bytes) const {
    return transfer(static_cast<char*>(to), bytes, ::read, ends_[0]);
  }
  bool write(const void* from, size_t bytes) const {
    return transfer(static_cast<const char*>(from), bytes, ::write, ends_[1]);
  }

 private:
  template <typename Bytes, typename Call>
  static bool transfer(Bytes* at, size_t bytes, const Call& call, int end) {
    while (bytes > 0) {
      const ssize_t moved = call(end, at, bytes);
      if (moved < 0 && errno == EINTR) continue;
      if (moved <= 0) return false;
      at += moved;
      bytes -= static_cast<size_t>(moved);
    }
    return true;
  }
  void close(size_t end) {
    if (ends_[end] >= 0) ::close(ends_[end]);
    ends_[end] = -1;
  }

  std::array<int, 2> ends_{-1, -1};
};

struct Answer {
  int32_t code = 0;
  int32_t cut = 0;
};

// Limits malloc to `bytes` in addition to its free memory. METIS first uses the free memory, and then what
// the kernel adds.
bool limit_memory([[maybe_unused]] int64_t bytes) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  // The malloc of sanitizers maps far more than it returns, and hangs or ends the process if mmap fails.
  return true;
#else
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  int64_t pages = 0;
  const bool known = file != nullptr && std::fscanf(file, "%*d %*d %*d %*d %*d %ld", &pages) == 1;
  if (file != nullptr) std::fclose(file);
  rlimit limit{};
  if (!known || ::getrlimit(RLIMIT_DATA, &limit) != 0) return false;
  const int64_t added = std::max(bytes - static_cast<int64_t>(::mallinfo2().fordblks), int64_t{0});
  limit.rlim_cur = std::min(limit.rlim_max, static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE) + added));
  // Large columns go back to the kernel when they are freed.
  ::mallopt(M_MMAP_THRESHOLD, 64 << 10);
  ::mallopt(M_MMAP_MAX, 1 << 30);
  return ::setrlimit(RLIMIT_DATA, &limit) == 0;
#endif
}

void be_quiet() {
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  ::dup2(nowhere, STDOUT_FILENO);
  ::dup2(nowhere, STDERR_FILENO);
}

// Runs in the child. Memory of the parent that it reads is shared until one of them writes to it.
[[noreturn]] void partition(const Library& metis, const SymmetricGraph& graph, idx_t parts, real_t imbalance,
                            int64_t bytes, std::span<int32_t> part_of, const Pipe& answer_to) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGINT, SIG_DFL);
  be_quiet();
  if (!limit_memory(bytes)) ::_exit(EXIT_FAILURE);
  std::array<idx_t, METIS_NOPTIONS> options{};
  metis.set_default_options(options.data());
  options[METIS_OPTION_SEED] = kSeed;
  auto nodes = static_cast<idx_t>(part_of.size());
  idx_t constraints = 1;
  // METIS has non-const parameters for these columns, but does not write to them.
  const auto column = [](const auto& numbers) { return const_cast<idx_t*>(numbers.data()); };
  Answer answer;
  answer.code = metis.part_graph_kway(&nodes, &constraints, column(graph.row_ptr), column(graph.neighbours),
                                      nullptr, nullptr, column(graph.weights), &parts, nullptr, &imbalance,
                                      options.data(), &answer.cut, part_of.data());
  const bool sent =
      answer_to.write(&answer, sizeof answer) && answer_to.write(part_of.data(), part_of.size_bytes());
  ::_exit(sent ? EXIT_SUCCESS : EXIT_FAILURE);
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw system_failure("cannot wait for", "METIS");
  return status;
}

// Returns when METIS has ended or sends its answer. Kills it if `tick` throws.
void wait_for_answer(const Pipe& pipe, pid_t child, const std::function<void()>& tick) {
  try {
    pipe.wait_to_read(tick);
  } catch (...) {
    ::kill(child, SIGKILL);
    wait_for(child);
    throw;
  }
}

}  // namespace

std::optional<int64_t> run_metis(const SymmetricGraph& graph, int32_t parts, double slack, int64_t bytes,
                                 std::span<int32_t> part_of, const std::function<void()>& tick) {
  const Library& metis = Library::get();
  Pipe pipe;
  const pid_t child = ::fork();
  if (child < 0) throw system_failure("cannot start a process for", "METIS");
  if (child == 0) partition(metis, graph, parts, static_cast<real_t>(1 + slack), bytes, part_of, pipe);
  pipe.end_writing();
  wait_for_answer(pipe, child, tick);
  Answer answer;
  const bool answered = pipe.read(&answer, sizeof answer) && pipe.read(part_of.data(), part_of.size_bytes());
  const int status = wait_for(child);
  if (answered && answer.code == METIS_OK) return answer.cut;
  if (answered && answer.code == METIS_ERROR_MEMORY) return std::nullopt;
  if (answered) throw Failure(fmt::format("METIS failed with code {}", answer.code));
  if (WIFSIGNALED(status)) throw Failure(fmt::format("METIS was killed by signal {}", WTERMSIG(status)));
  return std::nullopt;  // METIS calls exit() if one of its own lists gets no memory.
}

}  // namespace plimsoll
