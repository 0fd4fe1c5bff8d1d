// Indexing with the ints that a Program and its readers use. Every folder uses these functions,
// hence they are in the namespace `ripeline`.
#pragma once

#include <cstddef>
#include <vector>

namespace ripeline {

template <class T>
[[nodiscard]] const T& at(const std::vector<T>& v, int i) {
  return v[static_cast<std::size_t>(i)];
}
template <class T>
[[nodiscard]] T& at(std::vector<T>& v, int i) {
  return v[static_cast<std::size_t>(i)];
}
template <class T>
[[nodiscard]] int size_of(const std::vector<T>& v) {
  return static_cast<int>(v.size());
}

}  // namespace ripeline
