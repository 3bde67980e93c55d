/* Export workers of a build without exporters: the recording is all there is. */
#include "collect/collector.h"

#include <errno.h>

int exporter_start(struct exporter *exporter, struct mailbox *mail)
{
    exporter->mail = mail;
    return 0;
}

int exporter_add(struct exporter *exporter, struct recorded *process)
{
    return -EOPNOTSUPP;
}

void exporter_poke(struct exporter *exporter, struct recorded *process)
{
}

void exporter_stop(struct exporter *exporter)
{
}
