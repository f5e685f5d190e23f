#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/number_checks.h"
#include "cli/run_screen.h"
#include "cli/verbs.h"
#include "io/file.h"
#include "telemetry/run_status.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

struct TopVerbOptions {
  std::string run;
  double interval = 1;
  bool once = false;
  bool json = false;
};

// The runs to show. The journal of each run is followed from the time it was first seen.
class Runs {
 public:
  explicit Runs(const std::string& only) : only_(only.empty() ? fs::path() : fs::canonical(only)) {}

  std::vector<Json> look() {
    std::vector<Json> found;
    const std::vector<LiveRun> live = find_live_runs();
    if (only_.empty()) {
      for (const LiveRun& run : live) found.push_back(status_of(run.folder).look(run.process));
      return found;
    }
    int64_t process = 0;
    for (const LiveRun& run : live)
      if (run.folder == only_) process = run.process;
    found.push_back(status_of(only_).look(process));
    return found;
  }

 private:
  RunStatus& status_of(const fs::path& folder) {
    return statuses_.try_emplace(folder.string(), RunStatus(folder)).first->second;
  }
  const fs::path only_;
  std::map<std::string, RunStatus> statuses_;
};

double now_in_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

winsize terminal_size() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) size.ws_col = 80;
  if (size.ws_row == 0) size.ws_row = 24;
  return size;
}

// Shows the terminal's second screen, without cursor and key echo, for the lifetime of the object.
class Screen {
 public:
  Screen() {
    keys_ = ::tcgetattr(STDIN_FILENO, &before_) == 0;
    if (keys_) {
      termios raw = before_;
      raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    fmt::print("\x1b[?1049h\x1b[?25l");
  }
  ~Screen() {
    std::fputs("\x1b[?25h\x1b[?1049l", stdout);  // fmt::print would throw if the terminal was closed.
    std::fflush(stdout);
    if (keys_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // Cuts lines that are too long and skips those below the last row, so that the screen does not scroll.
  void show(const std::string& text) {
    fmt::print("\x1b[H\x1b[?7l");
    int rows = terminal_size().ws_row - 2;
    size_t begin = 0;
    for (size_t end = text.find('\n'); end != std::string::npos && rows > 0; end = text.find('\n', begin)) {
      fmt::print("{}\x1b[K\n", text.substr(begin, end - begin));
      begin = end + 1;
      --rows;
    }
    fmt::print("\x1b[K\npress q to quit{}\x1b[J\x1b[?7h",
               begin < text.size() ? "; some lines do not fit" : "");
    std::fflush(stdout);
  }
  // Waits for up to `seconds` seconds. Returns whether q was pressed or the terminal was closed.
  bool wait_for_end(double seconds) const {
    pollfd keys{STDIN_FILENO, POLLIN, 0};
    if (::poll(&keys, keys_ ? 1 : 0, static_cast<int>(seconds * 1000)) <= 0) return false;
    char key = 0;
    return ::read(STDIN_FILENO, &key, 1) <= 0 || key == 'q';
  }

 private:
  termios before_{};
  bool keys_ = false;
};

bool is_run(const fs::path& folder) {
  if (!fs::exists(folder / "manifest.json")) return false;
  const Json manifest = parse_json(read_text(folder / "manifest.json"));
  return manifest.is_object() && manifest.value("kind", Json()) == "run";
}

void run(const TopVerbOptions& options) {
  if (!options.run.empty() && !is_run(options.run))
    throw InputError(options.run + ": is not a run; expected a folder that `plimsoll train` wrote");
  Runs runs(options.run);
  if (options.json) {
    const Json found = {{"runs", runs.look()}};
    print_json(found);
    return;
  }
  if (options.once || ::isatty(STDOUT_FILENO) == 0) {
    fmt::print("{}", run_screen(runs.look(), terminal_size().ws_col, now_in_seconds()));
    return;
  }
  stop_in_order();
  Screen screen;
  do {
    throw_if_stopped();
    screen.show(run_screen(runs.look(), terminal_size().ws_col, now_in_seconds()));
  } while (!screen.wait_for_end(options.interval));
}

}  // namespace

void add_top(CLI::App& app) {
  auto options = std::make_shared<TopVerbOptions>();
  CLI::App* verb = app.add_subcommand("top", "Show the runs on this machine: memory, rate and bottleneck");
  verb->add_option("RUN", options->run,
                   "The folder of a run, which may have ended; default: all runs in progress");
  CLI::Option* const interval =
      verb->add_option("--interval", options->interval, "Update a terminal at this interval, in seconds");
  interval->check(within(0.1, 3600))->capture_default_str();
  verb->add_flag("--once", options->once, "Print the current state once")->excludes(interval);
  verb->add_flag("--json", options->json, "Print the current state once as JSON")->excludes(interval);
  verb->footer("Example: plimsoll top runs/gat");
  verb->callback([options] { run(*options); });
}

}  // namespace plimsoll
