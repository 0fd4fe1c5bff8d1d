// The actions of a cell: almost always one action, which is stored in the cell itself, since a file
// may have millions of cells. Behaves like a vector. It is a value type; concurrent reads are safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <utility>

namespace ripeline::pytorch {

template <class T>
class ShortList {
 public:
  ShortList() = default;
  ShortList(std::initializer_list<T> items) { assign(items.begin(), items.size()); }
  ShortList(const ShortList& other) { assign(other.begin(), other.size()); }
  ShortList(ShortList&& other) noexcept { swap(other); }
  ShortList& operator=(ShortList other) noexcept {
    swap(other);
    return *this;
  }
  ~ShortList() = default;

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] T* begin() { return more_ ? more_.get() : &one_; }
  [[nodiscard]] T* end() { return begin() + size_; }
  [[nodiscard]] const T* begin() const { return more_ ? more_.get() : &one_; }
  [[nodiscard]] const T* end() const { return begin() + size_; }
  [[nodiscard]] T& operator[](std::size_t i) { return begin()[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const { return begin()[i]; }
  [[nodiscard]] T& front() { return *begin(); }
  [[nodiscard]] const T& front() const { return *begin(); }
  [[nodiscard]] const T& back() const { return begin()[size_ - 1]; }

  // From the second item on, each call copies all items, which is cheap since cells have few.
  void push_back(T item) {
    if (size_ > 0) {
      auto longer = std::make_unique<T[]>(size_ + 1);
      std::copy(begin(), end(), longer.get());
      more_ = std::move(longer);
    }
    ++size_;
    (*this)[size_ - 1] = std::move(item);
  }
  void clear() {
    more_.reset();
    size_ = 0;
  }

  bool operator==(const ShortList& other) const {
    return std::equal(begin(), end(), other.begin(), other.end());
  }

 private:
  void assign(const T* items, std::size_t size) {
    if (size > 1) more_ = std::make_unique<T[]>(size);
    size_ = static_cast<std::uint32_t>(size);
    std::copy(items, items + size, begin());
  }
  void swap(ShortList& other) noexcept {
    std::swap(one_, other.one_);
    std::swap(size_, other.size_);
    std::swap(more_, other.more_);
  }

  T one_{};  // the item, if there is one
  std::uint32_t size_ = 0;
  std::unique_ptr<T[]> more_;  // the items, if there are several
};

}  // namespace ripeline::pytorch
