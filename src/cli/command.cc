#include "cli/command.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <system_error>

#include "base/error.h"
#include "base/json.h"
#include "base/units.h"
#include "base/version.h"
#include "cli/foreign_words.h"
#include "cli/interrupt.h"
#include "io/lost_mapping.h"
#include "memory/ledger.h"
#include "memory/limits.h"

namespace plimsoll {
namespace {

// Accepts "-O key value" as well as "-O key=value": the former becomes the latter.
std::vector<std::string> join_overrides(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  for (size_t i = 0; i + 1 < arguments.size(); ++i) {
    if (arguments[i] != "-O" || arguments[i + 1].find('=') != std::string::npos || i + 2 >= arguments.size())
      continue;
    arguments[i + 1] += "=" + arguments[i + 2];
    arguments.erase(arguments.begin() + static_cast<int64_t>(i) + 2);
  }
  return arguments;
}

// "slurm ... -- VERB ARGS" becomes "slurm ... --command=VERB --command=ARG ...", because CLI11 would treat
// the words after -- as arguments of `slurm` itself.
void join_command(std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0] != "slurm") return;
  const auto dashes = std::ranges::find(arguments, "--");
  if (dashes == arguments.end()) return;
  for (auto word = dashes + 1; word != arguments.end(); ++word) *word = "--command=" + *word;
  arguments.erase(dashes);
}

// An empty argument is usually an unset shell variable. It would name the current folder, or select the
// default.
void refuse_empty(const std::vector<std::string>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    const bool is_option = word.starts_with("--") && word.find('=') == word.size() - 1;
    if (!word.empty() && !is_option) continue;
    const std::string at = is_option ? "after " + word
                           : i == 0  ? "at the start"
                                     : "after " + arguments[i - 1];
    throw UsageError("found an empty argument " + at + ", expected a value; is a shell variable unset?");
  }
}

// Warns that the system may kill a run whose budget exceeds the available memory.
void warn_of(const std::vector<Limit>& limits, int64_t budget) {
  const Limit& min = *std::ranges::min_element(limits, {}, &Limit::usable);
  if (min.usable() <= 0)
    return fmt::print(stderr,
                      "plimsoll: {} leaves no memory: other users of it, such as thread stacks, hold {} of "
                      "{}; raise the limit (RLIMIT_AS: with ulimit -v), or give fewer --threads\n",
                      min.source, format_bytes(min.others), format_bytes(min.bytes));
  fmt::print(stderr,
             "plimsoll: the budget of {} exceeds what {} leaves: {} of {}, because {} are in other use; the "
             "system may kill this run: give --budget {} or less\n",
             format_bytes(budget), min.source, format_bytes(min.usable()), format_bytes(min.bytes),
             format_bytes(min.others), format_bytes(min.usable()));
}

// Flushes the output. Returns the exit code `code`, or 1 instead of 0 if the flush fails, for example on a
// full disk.
int flushed(int code) {
  errno = 0;
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good()) return code;
  std::cerr << "plimsoll: standard output: " << (errno != 0 ? std::strerror(errno) : "a write failed")
            << "; the printed output is incomplete\n";
  return code == 0 ? 1 : code;
}

}  // namespace

int run_command(CLI::App& app, int argc, char** argv) {
  // A build with the stand-in is for tests, so its version must not look like that of a release.
  constexpr const char* kStandIn = PLIMSOLL_STAND_IN != 0 ? ", for tests: with --device stand-in" : "";
  app.set_version_flag("--version", fmt::format("plimsoll {}{}", kVersion, kStandIn));
  app.require_subcommand(1);
  // Ignored, so that a write beyond the file size limit fails with an error message and cleanup.
  std::signal(SIGXFSZ, SIG_IGN);
  report_lost_mappings();
  std::vector<std::string> words = join_overrides(argc, argv);
  try {
    refuse_empty(words);
    join_command(words);
    refuse_foreign_words(app, words);
    // CLI11 expects the arguments in reverse order.
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    return flushed(0);
  } catch (const CLI::ParseError& error) {
    // CLI11 reports missing arguments before unknown ones.
    if (const std::string text = error.get_exit_code() == 0 ? "" : about_unknown_word(app, words);
        !text.empty()) {
      std::cerr << "plimsoll: " << text << "\n";
      return 2;
    }
    const int code = app.exit(error);
    return flushed(code == 0 ? 0 : 2);
  } catch (const Error& error) {
    std::cerr << "plimsoll: " << error.what() << "\n";
    return error.exit_code();
  } catch (const AlarmsRaised&) {
    return flushed(AlarmsRaised::kExitCode);
  } catch (const Stopped& stopped) {
    std::signal(stopped.signal, SIG_DFL);
    std::raise(stopped.signal);
    return 128 + stopped.signal;
  } catch (const std::bad_alloc&) {
    std::cerr << "plimsoll: the system refused memory although the budget was not used up; give a smaller "
                 "--budget\n";
    return 4;
  } catch (const std::system_error& error) {
    std::cerr << "plimsoll: " << error.what() << "\n";
    const bool refused = error.code() == std::errc::resource_unavailable_try_again ||
                         error.code() == std::errc::not_enough_memory;
    return refused ? 4 : 1;  // A thread had no memory for its stack.
  } catch (const std::exception& error) {
    const std::string text = error.what();  // Messages of torch have stack frames appended.
    std::cerr << "plimsoll: " << text.substr(0, text.find("\nException raised from")) << "\n";
    return 1;
  }
}

void require_saved(const Unsaved& unsaved) {
  if (!unsaved.text().empty()) throw Failure("the result was printed but not saved: " + unsaved.text());
}

void save_printed(const std::function<void()>& save) {
  std::fflush(stdout);
  stop_in_order();
  Unsaved unsaved;
  unsaved.attempt(save);
  require_saved(unsaved);
  throw_if_stopped();
}

void Resources::add_budget(CLI::App& verb) {
  verb.add_option("--budget", budget_text,
                  "Limit memory to this size, such as 256MiB or 2GB, or to a share of the detected limit, "
                  "such as 80%")
      ->type_name("SIZE");
}

void Resources::add_threads(CLI::App& verb) {
  verb.add_option("--threads", threads,
                  "Use this number of threads; default: the number of available processors")
      ->check(CLI::Range(1, 1024));
}

int Resources::thread_count() const {
  if (threads > 0) return threads;
  cpu_set_t set;
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? std::max(1, CPU_COUNT(&set) / sharers) : 1;
}

Budget::Budget(const Resources& resources, int64_t max, int64_t slack, bool may_be_below, bool for_elsewhere)
    : slack_(slack) {
  const std::vector<Limit> limits = find_limits();
  const int64_t limit = default_budget(limits) / resources.sharers;
  bytes_ = max > 0 ? std::min(max, limit) : limit;
  if (!resources.budget_text.empty())
    bytes_ = parse_size(resources.budget_text, usable_memory(limits) / resources.sharers);
  if (is_below_floor() && !may_be_below)
    throw Error(
        4,
        fmt::format(
            "the budget of {} is too small: this process holds {} before it reads any data{}; raise --budget",
            format_bytes(bytes_), format_bytes(floor()),
            slack_ > 0 ? fmt::format(" and sets {} aside for its libraries", format_bytes(slack_)) : ""));
  if (bytes_ > usable_memory(limits) / resources.sharers && !for_elsewhere) warn_of(limits, bytes_);
  Ledger::process().set_cap(std::max<int64_t>(bytes_ - outside_ledger(), 0));
}

std::string Budget::report() {
  const int64_t peak = Ledger::process().peak();
  return fmt::format("memory: {} of a budget of {} (floor {} + {}ledger {}); anonymous peak measured {}",
                     format_bytes(floor() + slack_ + peak), format_bytes(bytes_), format_bytes(floor()),
                     slack_ > 0 ? fmt::format("slack {} + ", format_bytes(slack_)) : "", format_bytes(peak),
                     format_bytes(meter_.peak_anonymous()));
}

Json Budget::report_json() {
  Json by_tag = Json::object();
  for (int t = 0; t < kTags; ++t) {
    const auto tag = static_cast<Tag>(t);
    if (Ledger::process().peak(tag) > 0) by_tag[tag_name(tag)] = Ledger::process().peak(tag);
  }
  return {{"budget_bytes", bytes_},
          {"floor_bytes", floor()},
          {"slack_bytes", slack_},
          {"ledger_peak_bytes", Ledger::process().peak()},
          {"anonymous_peak_bytes", meter_.peak_anonymous()},
          {"by_tag", by_tag},
          {"held", held_json()}};
}

Json limits_json(const std::vector<Limit>& limits) {
  Json list = Json::array();
  for (const Limit& limit : limits)
    list.push_back({{"source", limit.source}, {"bytes", limit.bytes}, {"others_bytes", limit.others}});
  return list;
}

Json held_json() {
  const ProcessMemory process = process_memory();
  const auto known = [&](int64_t bytes) { return process.anonymous > 0 ? Json(bytes) : Json(); };
  Json group;
  if (const auto memory = cgroup_memory())
    group = {{"source", memory->source},
             {"bytes", memory->bytes},
             {"peak_bytes", memory->peak ? Json(*memory->peak) : Json()}};
  return {{"anonymous_bytes", known(process.anonymous)},
          {"file_backed_bytes", known(process.file_backed)},
          {"shared_bytes", known(process.shared)},
          {"cgroup", group}};
}

}  // namespace plimsoll
