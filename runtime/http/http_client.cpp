// SPDX-License-Identifier: Apache-2.0
#include "runtime/http/http_client.hpp"

#include <curl/curl.h>
#include <fmt/format.h>

#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <variant>

#include "runtime/clock.hpp"
#include "runtime/environment.hpp"
#include "runtime/text.hpp"

namespace warpsmith {
namespace {

constexpr int poll_busy_ms = 100;  // the longest delay in noticing a limit
constexpr int poll_idle_ms = 1000;

using Easy = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;
using Multi = std::unique_ptr<CURLM, decltype(&curl_multi_cleanup)>;
using List = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

/// libcurl's global state; lives as long as the process.
void start_library() {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (started != CURLE_OK) throw std::runtime_error("cannot start libcurl");
}

HttpFault fault_of(CURLcode code) {
  switch (code) {
    case CURLE_OK:
      return HttpFault::none;
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
      return HttpFault::unreachable;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
      return HttpFault::untrusted;
    case CURLE_OPERATION_TIMEDOUT:
      return HttpFault::timed_out;
    default:
      return HttpFault::cut;
  }
}

/// A request in flight.
struct Transfer {
  uint64_t id = 0;
  HttpRequest request;
  HttpReply reply;
  SteadyClock::time_point begun = SteadyClock::now();
  SteadyClock::time_point last_byte = begun;
  List headers{nullptr, curl_slist_free_all};
  Easy easy{nullptr, curl_easy_cleanup};

  bool silent() const { return SteadyClock::now() - last_byte > request.limits.silence; }
  bool overdue() const { return SteadyClock::now() - begun > request.limits.whole; }
};

/// libcurl's callback: 0 ends the transfer.
size_t take_bytes(char* data, size_t size, size_t count, void* transfer) {
  auto& t = *static_cast<Transfer*>(transfer);
  const size_t bytes = size * count;
  t.last_byte = SteadyClock::now();
  if (t.reply.body.size() + bytes > t.request.limits.bytes) {
    t.reply.fault = HttpFault::too_long;
    return 0;
  }
  t.reply.body.append(data, bytes);
  return bytes;
}

void add_header(Transfer& t, const std::string& line) {
  curl_slist* longer = curl_slist_append(t.headers.get(), line.c_str());
  if (longer == nullptr) throw std::bad_alloc{};
  (void)t.headers.release();  // `longer` begins with it
  t.headers.reset(longer);
}

void prepare(Transfer& t) {
  t.easy.reset(curl_easy_init());
  if (!t.easy) throw std::runtime_error("cannot create a libcurl handle");
  add_header(t, "Expect:");  // no round trip before the body
  for (const std::string& line : t.request.headers) add_header(t, line);
  CURL* const easy = t.easy.get();
  curl_easy_setopt(easy, CURLOPT_URL, t.request.url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, ("warpsmith/" + program_version()).c_str());
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, t.headers.get());
  curl_easy_setopt(easy, CURLOPT_POST, 1L);
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, t.request.body.c_str());
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                   static_cast<curl_off_t>(t.request.body.size()));
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(t.request.limits.connect.count()));
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_bytes);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &t);
  curl_easy_setopt(easy, CURLOPT_PRIVATE, &t);
}

const char* text_in(CURL* easy, CURLINFO which) {
  const char* text = nullptr;
  curl_easy_getinfo(easy, which, &text);
  return text == nullptr ? "" : text;
}

void read_head(Transfer& t) {
  CURL* const easy = t.easy.get();
  long status = 0;
  curl_off_t wait = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &wait);
  t.reply.status = static_cast<int>(status);
  t.reply.content_type = text_in(easy, CURLINFO_CONTENT_TYPE);
  t.reply.location = text_in(easy, CURLINFO_REDIRECT_URL);
  if (wait > 0) t.reply.retry_after = std::chrono::seconds{wait};
}

std::string limit_text(const Transfer& t) {
  const HttpLimits& limits = t.request.limits;
  if (t.overdue()) return "not complete after " + duration_text(limits.whole);
  if (t.silent()) return "no data for " + duration_text(limits.silence);
  return "no connection within " + duration_text(limits.connect);
}

void read_end(Transfer& t, CURLcode code) {
  read_head(t);
  using std::chrono::milliseconds;
  t.reply.took = std::chrono::duration_cast<milliseconds>(SteadyClock::now() - t.begun);
  if (t.reply.fault == HttpFault::none) t.reply.fault = fault_of(code);
  switch (t.reply.fault) {
    case HttpFault::none:
      return;
    case HttpFault::too_long:
      t.reply.detail = fmt::format("more than {} bytes", t.request.limits.bytes);
      return;
    case HttpFault::timed_out:
      t.reply.detail = limit_text(t);
      return;
    default:
      t.reply.detail = curl_easy_strerror(code);
  }
}

struct Cancel {
  uint64_t id = 0;
};

}  // namespace

/// The thread and its state. Only `inbox_` and `ending_` are shared, under the mutex.
class HttpClient::Loop {
 public:
  explicit Loop(Done done) : done_(std::move(done)), multi_(curl_multi_init(), curl_multi_cleanup) {
    if (!multi_) throw std::runtime_error("cannot create a libcurl handle");
    thread_ = std::thread([this] { run(); });
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop() {
    {
      const std::scoped_lock lock{mutex_};
      ending_ = true;
    }
    curl_multi_wakeup(multi_.get());
    thread_.join();
    for (auto& [id, transfer] : transfers_) remove(*transfer);
  }

  void put(std::variant<std::unique_ptr<Transfer>, Cancel> order) {
    {
      const std::scoped_lock lock{mutex_};
      inbox_.push_back(std::move(order));
    }
    curl_multi_wakeup(multi_.get());
  }

 private:
  using Order = std::variant<std::unique_ptr<Transfer>, Cancel>;

  void run() {
    while (take_orders()) {
      int active = 0;
      curl_multi_perform(multi_.get(), &active);
      end_done();
      end_late();
      const int wait = transfers_.empty() ? poll_idle_ms : poll_busy_ms;
      curl_multi_poll(multi_.get(), nullptr, 0, wait, nullptr);
    }
  }

  /// False once the client ends.
  bool take_orders() {
    std::vector<Order> orders;
    {
      const std::scoped_lock lock{mutex_};
      if (ending_) return false;
      orders = std::exchange(inbox_, {});
    }
    for (Order& order : orders) {
      if (auto* transfer = std::get_if<std::unique_ptr<Transfer>>(&order)) {
        start(std::move(*transfer));
      } else {
        forget(std::get<Cancel>(order).id);
      }
    }
    return true;
  }

  void start(std::unique_ptr<Transfer> transfer) {
    prepare(*transfer);
    curl_multi_add_handle(multi_.get(), transfer->easy.get());
    const uint64_t id = transfer->id;
    transfers_.emplace(id, std::move(transfer));
  }

  void remove(Transfer& transfer) { curl_multi_remove_handle(multi_.get(), transfer.easy.get()); }

  void forget(uint64_t id) {
    const auto found = transfers_.find(id);
    if (found == transfers_.end()) return;
    remove(*found->second);
    transfers_.erase(found);
  }

  void end(Transfer& transfer, CURLcode code) {
    read_end(transfer, code);
    const uint64_t id = transfer.id;
    HttpReply reply = std::move(transfer.reply);
    forget(id);
    done_(id, std::move(reply));
  }

  void end_done() {
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      Transfer* transfer = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
      end(*transfer, message->data.result);
    }
  }

  void end_late() {
    std::vector<Transfer*> late;
    for (const auto& [id, transfer] : transfers_) {
      if (transfer->silent() || transfer->overdue()) late.push_back(transfer.get());
    }
    for (Transfer* transfer : late) end(*transfer, CURLE_OPERATION_TIMEDOUT);
  }

  Done done_;
  Multi multi_;
  std::map<uint64_t, std::unique_ptr<Transfer>> transfers_;
  std::mutex mutex_;
  std::vector<Order> inbox_;
  bool ending_ = false;
  std::thread thread_;
};

HttpClient::HttpClient(Done done) {
  start_library();
  loop_ = std::make_unique<Loop>(std::move(done));
}

HttpClient::~HttpClient() = default;

void HttpClient::post(uint64_t id, HttpRequest request) {
  auto transfer = std::make_unique<Transfer>();
  transfer->id = id;
  transfer->request = std::move(request);
  loop_->put(std::move(transfer));
}

void HttpClient::cancel(uint64_t id) {
  loop_->put(Cancel{id});
}

}  // namespace warpsmith
