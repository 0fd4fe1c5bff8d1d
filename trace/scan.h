// Scan: JSON read once, from front to back, without a tree.
//
// For files of gigabytes of small objects. A caller asks for what it expects; the first thing that
// does not fit stops the scan, and everything after fails: failed() and place() say so once.
//
//   if (scan.enter('{')) while (scan.key(name)) { if (name == "ts") t = scan.nanoseconds(); else
//   scan.skip(); }
//
// Views point into the text, which must outlive them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ripeline::trace {

class Scan {
 public:
  explicit Scan(std::string_view text) : text_(text) {}

  // `open` is { or [; false, and a failure, if something else comes.
  bool enter(char open);
  // In an object: the next key, or false at its end.
  bool key(std::string_view& name);
  // In an array: whether another element comes; false at its end.
  bool element();

  // As written: escapes stay. No string of a trace that matters has any.
  std::string_view string();
  std::int64_t integer();
  // Microseconds as a decimal, in nanoseconds; digits beyond are cut off.
  std::int64_t nanoseconds();
  [[nodiscard]] bool at_string();
  // Any value; the text of it.
  std::string_view skip();

  void fail();
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] std::size_t place() const { return at_; }  // bytes from the front

 private:
  void space();
  bool take(char c);
  std::string_view number();

  std::string_view text_;
  std::size_t at_ = 0;
  bool first_ = false;  // just entered: no comma before the next
  bool failed_ = false;
};

}  // namespace ripeline::trace
