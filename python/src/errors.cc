#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "bindings.h"
#include "memory/ledger.h"

namespace plimsoll {
namespace {

nb::object error_class(const char* name) {
  return nb::module_::import_("plimsoll.errors").attr(name);
}

// Replaces the command-line options that messages name most often by their Python equivalents.
std::string in_python(std::string text) {
  constexpr std::pair<std::string_view, std::string_view> kOptions[] = {
      {"--force", "force=True"}, {"--device-budget", "the device budget"}, {"--device ", "device="}};
  for (const auto& [option, in_python_form] : kOptions)
    for (size_t at = 0; (at = text.find(option, at)) != std::string::npos;)
      text.replace(at, option.size(), in_python_form);
  return text;
}

// A path in the text may contain any bytes; those that are not UTF-8 become U+FFFD.
nb::object python_text(const std::string& text) {
  return nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

void raise(const char* name, const char* text) {
  PyErr_SetObject(error_class(name).ptr(), python_text(in_python(text)).ptr());
}

void raise_budget_exceeded(const BudgetExceeded& error) {
  nb::object raised = error_class("BudgetExceeded")(python_text(error.what()));
  raised.attr("tag") = tag_name(error.tag());
  raised.attr("bytes_asked") = error.bytes_asked();
  raised.attr("bytes_free") = error.bytes_free();
  PyErr_SetObject(raised.type().ptr(), raised.ptr());
}

void translate(const std::exception_ptr& pointer, void*) {
  try {
    std::rethrow_exception(pointer);
  } catch (const BudgetExceeded& error) {
    raise_budget_exceeded(error);
  } catch (const UsageError& error) {
    raise("UsageError", error.what());
  } catch (const InputError& error) {
    raise("InputError", error.what());
  } catch (const Error& error) {
    raise(error.exit_code() == 4 ? "BudgetExceeded" : "Failure", error.what());
  } catch (const std::bad_alloc&) {
    raise("BudgetExceeded",
          "the system refused memory although the budget was not used up; give a smaller budget");
  } catch (const std::system_error& error) {  // Raised for threads and files.
    raise("Failure", error.what());
  }
}

}  // namespace

void translate_errors() {
  nb::register_exception_translator(translate);
}

}  // namespace plimsoll
