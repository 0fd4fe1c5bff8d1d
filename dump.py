import sys, os, torch
from torch.distributed.pipelining import schedules as s
class Stage:
    def __init__(self, i, n, rank, group): self.stage_index=i; self.num_stages=n; self.group_size=group; self.group_rank=rank; self.is_first=i==0; self.is_last=i==n-1; self.has_backward=True; self.device='cpu'; self.group=None; self.submod=None
    def __getattr__(self, n): raise AttributeError(n)
def dump(cls, p, v, m, name):
    n=p*v
    rank=0
    idx = [0] if v==1 else ([0,n-1] if cls in (s.ScheduleZBVZeroBubble,s.ScheduleDualPipeV) else [c*p for c in range(v)])
    st=[Stage(i,n,rank,p) for i in idx]
    try:
        sch = cls(st, m, loss_fn=None) if issubclass(cls,s.PipelineScheduleMulti) else cls(st[0], m, loss_fn=None)
    except Exception as e:
        print(name,'ERR',repr(e)); return
    order = sch.pipeline_order
    with open(name+'.csv','w') as f:
        for r in sorted(order): f.write(','.join('' if a is None else str(a) for a in order[r])+'\n')
    try:
        rt = s._PipelineScheduleRuntime(st, m); rt._prepare_schedule_with_comms(order)
        with open(name+'.comms.csv','w') as f:
            for r in sorted(rt.pipeline_order_with_comms): f.write(','.join('' if a is None else str(a) for a in rt.pipeline_order_with_comms[r])+'\n')
    except Exception as e: print(name,'comms ERR',repr(e))
    print(name,'ok')
for p in (2,3,4):
  for m in (2*p, 3*p, 4*p):
    for c,v in ((s.ScheduleInterleaved1F1B,2),(s.ScheduleLoopedBFS,2),(s.ScheduleInterleavedZeroBubble,2),(s.ScheduleZBVZeroBubble,2),(s.ScheduleDualPipeV,2),(s.ScheduleInterleaved1F1B,3)):
      dump(c,p,v,m,f'{c.__name__[8:]}_{p}_{v}_{m}')
