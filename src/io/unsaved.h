#pragma once

#include <functional>
#include <string>

#include "base/error.h"

namespace plimsoll {

/// Collects errors from files that are written in addition to a result. The result must be reported even if
/// these files fail, so the errors are kept until then.
class Unsaved {
 public:
  /// Calls `save` and keeps the text of its Failure. Errors: all errors of `save` other than Failure.
  void attempt(const std::function<void()>& save) {
    try {
      save();
    } catch (const Failure& error) {
      text_ += text_.empty() ? "" : "\n  ";
      text_ += error.what();
    }
  }
  /// Texts of all failures, one per line; empty if everything was saved.
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace plimsoll
