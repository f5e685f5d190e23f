#pragma once

// The only header that includes yaml-cpp.
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>
