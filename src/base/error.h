#pragma once

#include <stdexcept>
#include <string>

namespace plimsoll {

/// Base of the errors that end an operation. Each text says what was found, what was expected and the remedy.
/// exit_code() is the exit code of the command line (docs/command-line.md); related errors share one. Errors
/// derive from std::runtime_error, so code that does not know Plimsoll can catch them.
class Error : public std::runtime_error {
 public:
  Error(int exit_code, const std::string& text) : std::runtime_error(text), exit_code_(exit_code) {}
  int exit_code() const { return exit_code_; }

 private:
  int exit_code_;
};

/// Something other than the input failed: a full disk, a missing permission, or a bug in Plimsoll. Exit code
/// 1.
class Failure : public Error {
 public:
  explicit Failure(const std::string& text) : Error(1, text) {}
};

/// The command, a recipe or an option is invalid. Exit code 2.
class UsageError : public Error {
 public:
  explicit UsageError(const std::string& text) : Error(2, text) {}
};

/// A file or data set is invalid. Exit code 3.
class InputError : public Error {
 public:
  explicit InputError(const std::string& text) : Error(3, text) {}
};

/// A run cannot be done within its budget. The text names the smallest budget that works. Exit code 4.
class BudgetTooSmall : public Error {
 public:
  explicit BudgetTooSmall(const std::string& text) : Error(4, text) {}
};

/// The operation stopped on request. A later command can continue from the checkpoints that it had written,
/// if any. Exit code 75.
class Interrupted : public Error {
 public:
  explicit Interrupted(const std::string& text) : Error(75, text) {}
};

/// Returns a Failure for the system call that has just failed: "WHAT PATH: strerror(errno)".
Failure system_failure(const std::string& what, const std::string& path);

}  // namespace plimsoll
