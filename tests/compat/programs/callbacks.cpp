/* SPDX-License-Identifier: Apache-2.0 */
// Host functions in streams, and callbacks that the program's own threads execute.
#include "check.h"

#include <atomic>
#include <sstream>
#include <thread>
#include <vector>

namespace
{
aclrtContext context;

// A thread that processes the reports of its subscriptions until it is stopped.
class Deliverer
{
  public:
    explicit Deliverer(aclError (*process)(int32_t))
        : thread_([this, process] {
              OK(aclrtSetCurrentContext(context));
              while (!stop_) {
                  process(10);
              }
          })
    {
    }
    ~Deliverer()
    {
        stop_ = true;
        thread_.join();
    }
    std::thread::id thread() const
    {
        return thread_.get_id();
    }
    uint64_t id() const // as tutorials do: from the printed form
    {
        std::ostringstream text;
        text << thread_.get_id();
        return std::stoull(text.str());
    }

  private:
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

struct Heard {
    std::vector<int> order;
    std::vector<std::thread::id> threads;
};

template <int N> void hear(void *data)
{
    auto *heard = static_cast<Heard *>(data);
    heard->order.push_back(N);
    heard->threads.push_back(std::this_thread::get_id());
}

void reports(aclrtStream stream)
{
    Heard heard;
    {
        Deliverer reporter(aclrtProcessReport), host(aclrtProcessHostFunc);
        OK(aclrtSubscribeReport(reporter.id(), stream));
        OK(aclrtSubscribeHostFunc(host.id(), stream));
        OK(aclrtLaunchCallback(hear<1>, &heard, ACL_CALLBACK_BLOCK, stream));
        OK(aclrtLaunchHostFunc(stream, hear<2>, &heard));
        for (int i = 0; i < 5; i++) {
            OK(aclrtLaunchCallback(hear<3>, &heard, ACL_CALLBACK_BLOCK, stream));
        }
        OK(aclrtSynchronizeStream(stream));
        EXPECT((heard.order == std::vector<int>{1, 2, 3, 3, 3, 3, 3}));
        for (size_t i = 0; i < heard.order.size(); i++) {
            EXPECT(heard.threads[i] == (heard.order[i] == 2 ? host.thread() : reporter.thread()));
        }
        OK(aclrtUnSubscribeReport(reporter.id(), stream));
        OK(aclrtUnSubscribeHostFunc(host.id(), stream));
    }
    FAILS(100000, aclrtLaunchCallback(nullptr, &heard, ACL_CALLBACK_BLOCK, stream));
    EXPECT(aclrtLaunchCallback(hear<1>, &heard, ACL_CALLBACK_BLOCK, stream) !=
           ACL_SUCCESS); // no thread would execute it
}

void host_functions(aclrtStream stream)
{
    Heard heard;
    OK(aclrtLaunchHostFunc(stream, hear<1>, &heard)); // without subscription: on a thread of the runtime
    OK(aclrtLaunchHostFunc(stream, hear<2>, &heard));
    OK(aclrtSynchronizeStream(stream));
    EXPECT((heard.order == std::vector<int>{1, 2}));
    EXPECT(heard.threads[0] != std::this_thread::get_id());
}
} // namespace

int main()
{
    aclrtStream stream = nullptr;
    OK(aclInit(nullptr));
    OK(aclrtSetDevice(0));
    OK(aclrtCreateContext(&context, 0));
    OK(aclrtCreateStream(&stream));
    reports(stream);
    host_functions(stream);
    OK(aclrtDestroyStream(stream));
    OK(aclrtDestroyContext(context));
    OK(aclrtResetDevice(0));
    OK(aclFinalize());
    std::puts("callbacks: all good");
    return 0;
}
