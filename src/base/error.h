#pragma once

#include <stdexcept>
#include <string>

namespace plimsoll {

/// The errors that end an operation. Each text says what was found, what was expected and the remedy; each
/// class has the exit code of the command line (docs/command-line.md). Errors derive from std::runtime_error,
/// so code that knows nothing of Plimsoll can catch them.
class Error : public std::runtime_error {
 public:
  Error(int exit_code, const std::string& text) : std::runtime_error(text), exit_code_(exit_code) {}
  int exit_code() const { return exit_code_; }

 private:
  int exit_code_;
};

/// Something outside the input went wrong: a full disk, a missing permission, a broken promise of our own.
/// Exit 1.
class Failure : public Error {
 public:
  explicit Failure(const std::string& text) : Error(1, text) {}
};

/// The command, a recipe or an option is not what we understand. Exit 2.
class UsageError : public Error {
 public:
  explicit UsageError(const std::string& text) : Error(2, text) {}
};

/// A file or data set is not what it should be. Exit 3.
class InputError : public Error {
 public:
  explicit InputError(const std::string& text) : Error(3, text) {}
};

/// A run cannot be done within its budget; the text names the smallest budget that works. Exit 4.
class BudgetTooSmall : public Error {
 public:
  explicit BudgetTooSmall(const std::string& text) : Error(4, text) {}
};

/// Work that was asked to stop, and left what a later command goes on from. Exit 75.
class Interrupted : public Error {
 public:
  explicit Interrupted(const std::string& text) : Error(75, text) {}
};

/// A Failure for the system call that has just failed: "WHAT PATH: strerror(errno)".
Failure system_failure(const std::string& what, const std::string& path);

}  // namespace plimsoll
