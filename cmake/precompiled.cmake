# Offers plimsoll_precompile(TARGET KIND): headers that most files of a kind include are parsed once, which takes most of
# the time of compiling away. They are headers of others alone: a change of our own never compiles everything again.
# -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON compiles without them; `scripts/check tidy` does, so that a missing include is found.

# ccache takes a precompiled header for what it was made of only when told so.
set(precompiling_ccache ${refuse_warnings} ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})

# g++ instantiates again in each file what a precompiled header makes use of, so that a heavy header which few need costs
# more than it saves: torch's for autograd, say.
set(headers_of_all <algorithm> <array> <bit> <cmath> <condition_variable> <cstdint> <cstring> <filesystem> <functional> <limits> <map>
    <memory> <mutex> <numeric> <optional> <span> <string> <string_view> <utility> <vector> <fmt/format.h>)
set(headers_of_torch <ATen/Functions.h> <ATen/TensorOperators.h>)
set(headers_of_tests <gtest/gtest.h> <gmock/gmock.h>)

set(PLIMSOLL_PRECOMPILED_plain ${headers_of_all} <nlohmann/json.hpp>)
set(PLIMSOLL_PRECOMPILED_torch ${headers_of_torch} ${headers_of_all})
set(PLIMSOLL_PRECOMPILED_test ${headers_of_all} ${headers_of_tests})
set(PLIMSOLL_PRECOMPILED_torch_test ${headers_of_torch} ${headers_of_all} ${headers_of_tests})

# KIND is plain, torch, test or torch_test. The first target of a kind compiles the headers for all of it, so all must be
# compiled with the same options; g++ says so (-Winvalid-pch) where they are not.
function(plimsoll_precompile target kind)
  if(CCACHE)
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "${precompiling_ccache}")
  endif()
  # -fpch-preprocess lets ccache see the precompiled header in a preprocessed file. g++ collects garbage as if what is
  # precompiled had just been made, in vain.
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess --param=ggc-min-heapsize=1000000 --param=ggc-min-expand=300>)
  get_property(owner GLOBAL PROPERTY PLIMSOLL_PRECOMPILED_BY_${kind})
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    target_precompile_headers(${target} PRIVATE ${PLIMSOLL_PRECOMPILED_${kind}})
    set_property(GLOBAL PROPERTY PLIMSOLL_PRECOMPILED_BY_${kind} ${target})
  endif()
endfunction()
