"""Values and decisions, without I/O, clock or chance.

Words used below this folder (and nowhere with another meaning):

- *claim*: the creation of a job's controller pod; it gives the job its launch slot and its run slot.
- *takeover*: a controller's first status write; from then on it alone may write.
- *launch slot*: held from the claim until the attempt is up, and again for each recovery.
- *run slot*: held from the claim until the job is finished or suspended.
- *attempt*: one start of the work, numbered from 1; a *recovery* is an attempt after the first.
- *up*: every index has started some container or has finished.
- *parked*: a live job whose launch waits only for others; it holds its run slot and no launch slot.
- *ending*: how an attempt ended.
- *phase*: one word for people; *state*: where the job stands with the scheduler.
"""
