#include "base/json_text.h"

#include <fmt/format.h>

#include <array>
#include <iomanip>
#include <ostream>
#include <streambuf>

namespace plimsoll {
namespace {

// A stream buffer that passes each part written to it to a function.
class CallbackBuffer : public std::streambuf {
 public:
  explicit CallbackBuffer(const std::function<void(std::string_view)>& take) : take_(take) {
    setp(buffer_.data(), buffer_.data() + buffer_.size());
  }

 protected:
  int_type overflow(int_type next) override {
    sync();
    return traits_type::eq_int_type(next, traits_type::eof()) ? traits_type::not_eof(next)
                                                              : sputc(traits_type::to_char_type(next));
  }
  int sync() override {
    take_({pbase(), static_cast<size_t>(pptr() - pbase())});
    setp(buffer_.data(), buffer_.data() + buffer_.size());
    return 0;
  }

 private:
  const std::function<void(std::string_view)>& take_;
  std::array<char, 16 * 1024> buffer_;
};

}  // namespace

std::string json_text(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

void print_json(const Json& json, int indent) {
  fmt::print("{}\n", json_text(json, indent));
}

bool is_utf8(std::string_view text) {
  try {
    Json(text).dump();
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

void write_json(const Json& json, int indent, const std::function<void(std::string_view)>& take) {
  CallbackBuffer buffer(take);
  std::ostream stream(&buffer);
  stream.exceptions(std::ios::badbit);  // Rethrows what `take` throws.
  stream << std::setw(indent) << json << std::flush;
}

}  // namespace plimsoll
