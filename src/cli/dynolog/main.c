/* dynolog: the monitoring daemon of a node. */
#include "monitor/daemon/daemon.h"

int main(int argc, char **argv)
{
    return ms_daemon_run(argc, argv);
}
