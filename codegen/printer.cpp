#include "codegen/printer.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>

namespace ripeline::codegen {
namespace {

// The keywords, between spaces.
constexpr std::string_view kKeywords =
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t "
    "char32_t "
    "char8_t class co_await co_return co_yield compl concept const const_cast consteval constexpr "
    "constinit continue decltype default delete do double dynamic_cast else enum explicit export "
    "extern false float for friend goto if inline int long mutable namespace new noexcept not "
    "not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires "
    "return short signed sizeof static static_assert static_cast struct switch template this "
    "thread_local throw true try typedef typeid typename union unsigned using virtual void "
    "volatile "
    "wchar_t while xor xor_eq ";

// Names that headers of the C library or common toolkits define as macros.
constexpr std::string_view kMacros =
    " BUFSIZ EOF INFINITY INT_MAX INT_MIN NAN NULL assert emit errno foreach i386 linux major "
    "makedev minor offsetof setjmp signals slots stderr stdin stdout unix va_arg va_copy va_end "
    "va_start ";

// By convention, a name in capitals may be a macro. A single letter is not, since it names an op.
bool in_capitals(const std::string& word) {
  return word.size() > 1 && std::all_of(word.begin(), word.end(), [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
         });
}

[[noreturn]] void mistake(std::string_view what, std::string_view name) {
  std::fprintf(stderr, "ripeline: a bug in the generator: %.*s '%.*s'\n",
               static_cast<int>(what.size()), what.data(), static_cast<int>(name.size()),
               name.data());
  std::abort();
}

// `value` with `column` spaces before each line after the first; empty lines stay empty.
std::string indented(const std::string& value, std::size_t column) {
  std::string out;
  for (std::size_t i = 0; i < value.size(); ++i) {
    out += value[i];
    if (value[i] == '\n' && i + 1 < value.size() && value[i + 1] != '\n') out.append(column, ' ');
  }
  return out;
}

// Joins the texts. No separator follows empty texts at the beginning.
std::string joined(const std::vector<std::string>& texts, const std::string& separator) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : separator) + text;
  return out;
}

}  // namespace

std::string fill(std::string_view text, const Holes& holes) {
  std::string out;
  std::size_t begin = 0;  // where the last line begins
  std::set<std::string_view> used;
  for (std::size_t stop; (stop = text.find_first_of("$\n")) != std::string_view::npos;) {
    out += text.substr(0, stop);
    text.remove_prefix(stop);
    if (text.front() == '\n') {
      out += '\n';
      begin = out.size();
      text.remove_prefix(1);
      continue;
    }
    const std::size_t end = text.find('$', 1);
    if (end == std::string_view::npos) mistake("half a hole in", out.substr(begin).append(text));
    const std::string_view name = text.substr(1, end - 1);
    const auto hole = holes.find(name);
    if (hole == holes.end()) mistake("no value for the hole", name);
    used.insert(hole->first);
    text.remove_prefix(end + 1);
    const bool alone = out.find_first_not_of(' ', begin) == std::string::npos;
    if (alone && hole->second.empty() && (text.empty() || text.front() == '\n')) {
      out.resize(begin);
      text.remove_prefix(text.empty() ? 0 : 1);
    } else {
      out += indented(hole->second, alone ? out.size() - begin : 0);
    }
  }
  for (const auto& [name, value] : holes) {
    if (!used.contains(name)) mistake("no hole for", name);
  }
  return out.append(text);
}

std::string wrap(const std::vector<std::string>& items, std::size_t width) {
  std::string out;
  std::size_t column = 0;
  for (const std::string& item : items) {
    if (column > 0 && column + item.size() + 2 > width) {
      out += '\n';
      column = 0;
    }
    if (column > 0) out += ' ';
    column += item.size() + (column > 0 ? 2 : 1);
    out += item + ",";
  }
  return out;
}

std::string table(const std::string& type, const std::string& name, const std::string& comment,
                  const std::string& rows) {
  return fill("$comment$\ninline constexpr $type$ $name$[] = {\n    $rows$\n};\n",
              {{"comment", comment.empty() ? "" : "// " + comment},
               {"type", type},
               {"name", name},
               {"rows", rows}});
}

std::string array(const std::string& type, const std::string& name, const std::string& comment,
                  const std::string& rows) {
  if (rows.empty()) return "";
  const bool is_short = rows.size() < 40 && rows.find('{') == std::string::npos;
  if (!is_short) return table(type, name, comment, rows);
  return "// " + comment + "\ninline constexpr " + type + " " + name + "[] = {" +
         rows.substr(0, rows.size() - 1) + "};\n";
}

std::string call(const std::string& head, const std::vector<std::string>& items,
                 std::size_t width) {
  const std::string list = joined(items, ", ");
  if (head.size() + list.size() <= width) return head + list + ")";
  return head + joined(items, ",\n" + std::string(head.size(), ' ')) + ")";
}

std::string lines(const std::vector<std::string>& texts) { return joined(texts, "\n"); }

std::string paragraphs(const std::vector<std::string>& texts) { return joined(texts, "\n\n"); }

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

bool is_taken(const std::string& name) {
  const std::string word = " " + name + " ";
  return kKeywords.find(word) != std::string_view::npos ||
         kMacros.find(word) != std::string_view::npos;
}

std::string identifier(const std::string& name) {
  // `int` becomes `int_`, so `int_` becomes `int__`; hence different names remain different.
  const std::string word = name.substr(0, name.find_last_not_of('_') + 1);
  return is_taken(word) || in_capitals(word) ? name + "_" : name;
}

}  // namespace ripeline::codegen
