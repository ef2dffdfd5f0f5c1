// Scripts that once broke an invariant, each with what it was. A script names choices of the simulator as it was then:
// where the simulator's own choices have changed since, the script still runs, and the seed is one more history.
import { expect, test } from 'vitest'
import { actionsOf } from './shrink.ts'
import { simulate } from './simulate.ts'

/** The seed and what it was, then the script. */
const REGRESSIONS = `
138 starting a run threw instead of answering while the trail could not be read
  grant:xd9k7i,create:tny0kr,emit:s63fqv,send:p358b5,fault:152naq,assign:ezxjvj,contest:1vbw10,checkpoint:q68dt,start:84k8va
152 every restart recorded a denial of the signal ready that a workspace could not say before it was suspended
  send:opuc28,create:db8cdn,start:gat1tm,create:gpr13k,assign:nhic9v,send:uflkph,finish:rqgdsg,send:wd5neh,assign:ozh0ls,burst:pswppy,fault:40rz0j,burst:f15c9q,send:n3n92n,assign:nlibhj,send:464ggo,send:9i8tc7,contest:9xe17v,rush:z0i251,send:v0r39z,suspend:k8leer,send:6qyd62
7130 a trail query of a finished run threw instead of answering while the trail could not be read
  burst:8sldrm,stop:45vike,fault:dskvyz,query:7kgxi4
48 whoever waited for an integration that never became durable waited for ever
  resume:i8pwzs,create:90ui73,create:vpoyq8,send:uozpk3,contest:kyn6le,create:tnbxlb,fault:n5jrmb
35 a signal on its way arrived at a receiver that was suspended meanwhile
  consume:8jcud2,create:6i34vw,send:a5j1mh,create:s2zwfo,advance:4huy2h,burst:j3gjwi,checkpoint:1y1mg2,send:t99p1y,crash_midway:n3kkz,send:wsrvhc,advance:ze66jv,suspend:xixlur
56 sealing what is no envelope threw instead of answering
  settle:3t6qyi,create:zfiicy,send:grl85x,send:hquvzr,answer:l27sf7,finish:6zyx1v,seal:jf356y
156 the notice about mail of a person to the root was delivered to the root itself, which nobody waited for
  burst:aq1z42,create:q41w86,found:cqnjqd,send:7d07a3,create:kq8owv,send:n49yjt,advance:7bg6pm,release:ootz89,burst:t15kcw,inject:9hojaj,create:qnlz8h,inject:vt1whj,release:apvj1x,inject:8saf99,abort_group:flkt0p,found:rt0ssr
5842 merging in a finished run threw instead of answering while the trail could not be read
  meter:7yzz1p,staff:llv3s,create:dy1cda,submit_graph:swqwor,finish:fou9mx,close:x0qmht,start:bkcn8s,staff:gp4y7,fault:v0ei8,inject:kyvu1u,emit:b34lxb,fault:7rgxqx
33 a disk that failed while records moved was told as a defect of the trail, which nobody tries again
  start:73ybts,found:1pcu8t,finish:hnm3gz,layer:trp1bx,fault:hr4ys0,burst:5m8b3n
3000 a run was found damaged by whoever read it while one of its archives was deleted
  seal:ptky02,create:7ve3vw,wreck:7gxzmm,compact:ywnz8o,stop:7zhm76,people:umvq0p,archive:ch7amp
159 behind a segment that was begun to free another one the log went on in an earlier segment
  accept:yhhk5e,create:pzur28,abort:qx2ay2,compact:9i153b,close:ercwt2,settle:gw6yu9,found:zakzyf,assign:1j2zgz,finish:86pnjq,burst:2b14z2,assign:4hrlcp,deliver:2zxwmr,send:xtrgia,finish:nebn3k,delete_archive:fk6cor,found:8xhwyv,begin_work:9lcrzs,emit:ed4uoy,rush:ym0w2c,staff:95qv00,burst:e35jct,assign:yhwct3,compact_run:9uv4fd
3051 a file and the one that had taken its place both went cold, and what was deleted with one was still in the other
  twice:20wwst,close:wyeq0o,send:7hwd9m,archive:s2ss54,advance:vo84kb,found:21yvph,fault:9blat8,archive:9vug7k,crash_midway:yn4xn5,burst:rlaxpa,topple:8l336n,burst:rv0b6e,inspect:riw0hh
3051 the cold tier was marked whole up to an entry that was appended while the run moved there
  twice:20wwst,close:wyeq0o,advance:vo84kb,found:21yvph,fault:9blat8,archive:9vug7k,crash_midway:yn4xn5,inspect:riw0hh
134 an export put the content of an entry in front of the deleted entries before it, and then did not verify
  submit_graph:hzhyio,found:cjnxjk,wreck:wianoq,refuse:91sttj,burst:6lavsm,archive:ka4nvr,export:xli7wk
2077 what an agent was denied after its workspace had ended could not be proven to be its act
  submit_graph:2710p0,create:hql3k0,twice:kdjq1j,burst:yeh3fl,query:avgakx,create:5pbojc,prove:lei2i6
4523 a refusal named an entry of a run that had ended, while it was on record in the house under another id
  create:10s1ui,create:ny518b,deliver:wdrv6f,staff:o55ax1,refuse:bo9k2a,deliver:71konk,create:r2bkyn,send:sizivk,finish:y9rf95,assign:lb7hh0,create:os9svk,start:c74bgt,create:4i3elk,stop:flw2yf,finish:8qg4su,staff:xsbdyf,deliver:4gwx4x,migrate:xyip97,contest:lz8v4m,wreck:yogvec,abort:x2b410,rush:cirz26,fault:a8pm1l,send:wkinw9,finish:w96hba,escalate:6hszul,query:n4ejgw,wreck:adt1qj
347 an archive whose deletion failed was deleted in the second copy of the cold tier and nowhere else
  create:t9odwy,found:49jn43,submit_graph:j4ms4f,restart:xw6sh2,deliver:8rlr92,compact:6n57kt,found:upzuho,assign:b7flpt,found:maref4,release:ksmkt0,deliver:6qko3r,migrate:q2ix1r,burst:r6np12,settle:qhonwe,wreck:gyiv2t,resume:fi9ja2,fault:7bkkrw,archive:cagjcx,create:scfpv8,archive:hto7nj,heal:z5jnr1,expire:hnc38u,inspect:3ceps3
5540 a deletion that failed while the log was wiped had deleted the archive all the same, and could not be tried again
  send:e4cw9b,assign:nv89p7,abort:eta4p1,found:tb4e1l,fault:6decbv,send:j8h065,emit:mq32jy,transfer:ko0am1,compact_run:bpsfkw,fault:av2mcu,heal:cc8av1,inspect:ty2zjw
9310 an integration that moved to the root and was aborted in the same batch locked the root for ever
  memory:7or96i,create:8ddmru,assign:uifq6n,found:e0jouz,send:hj5okf,deliver:saiixe,deliver:ymwp7f,send:o9nhs6,deliver:jfkmz6,found:fmc3vt,staff:gt2rie,found:34fywq,staff:x46zya,finish:mbi1od,burst:32qi36,abort_group:zg030k
2951 an archive that never counted was brought back from the replica, and deleting one of two copies left the other
  finish:i35blh,burst:b1sagi,crash_midway:hr4e69,abort:tj44y1,fault:cdz1z3,transfer:o9ad84,compact_run:la6e4n,restore:hkt386,delete_archive:almx7v
4785 what was brought back from the replica was archived twice
  topple:sf9ad8,create:i3ys6e,deliver:v2lq1c,create:hu9ptk,send:cxdiu3,rush:qgla8o,compact:x0wohb,stop:kd7bmw,crash_midway:mt8ymi,fault:7tux01,finish:ugk1cl,emit:n95384,archive:6l2s8t,restore:ccf7ew,burst:rxn26k
16304 asking for the port rights of a finished run threw instead of answering while the trail could not be read
  degrade:6yxcvh,emit:tgl402,create:afgi7o,burst:juza0e,staff:a86vx8,send:cjnljb,finish:jvczli,assign:eqa8pw,accept:24mcjl,restart:2dss4w,send:vibcph,pose:bwl3il,stop:3ubrxd,create:60yarb,staff:6saq5r,create:nrdg6,fault:v694n4,create:p0wwd8,read:yfscuk
18189 what a delegate did to the tasks below its own could not be proven to be its act
  again:sbvacx,wreck:lgshov,interfere:6wxynb,create:jxdrij,create:yincsu,escalate:d10cw,finish:wnre68,found:7je9kl,submit_graph:oomc25,burst:vl8uy7,create:68axzv,create:j8eqd7,deliver:1nt0ec,create:852h38,send:kjrnvc,staff:6e98q7,assign:ufyhdv,staff:kr75we,add_tasks:coaj2p,add_tasks:2haf0i,deliver:7gq88b,heal:im564o,prove:nhy85h
4 an archive that the index could not be told of was archived again, and deleting it left the other copy
  fault:a7z5uv,answer:b1ow7s,advance:8kimc5,close:fq3xj,compact_run:qh44o0,archive:s5c3vc,crash_midway:88c6j0,inspect:7stf47
20087 records in an archive that the index could not be told of were said to be still in the log
  fault:rcf4ki,settle:8qiuvh,compact_run:y0yfkc,heal:b7ma59,inspect:k8kwqx
20642 an archive was deleted and said not to be, since the index could not be told
  escalate:12yc25,archive:lp17zq,fault:isin6s,create:3ob2pb,close:c6j6r5,archive:6ffq2o,archive:n7cct2
893 a run could not be read: the index was told late that an archive is deleted, and still looked in it for objects
  assign:f60v4d,heal:lulic,archive:iihp7j,found:22xzna,archive:5ypu2a,send:qkf6h5,fault:ylnkyz
30224 a failure that an agent reported while its work was judged counted as that of a later abort
  inject:qltp93,fault:tc0prd,suspend:nb5vw8,found:l605e4,fault:lp04qf,consult:hk74nc,abort:gc87vv,burst:7gvdmc,create:680bce,wreck:l01itl,deliver:76jx9p,create:25ybak,burst:94hnzc,deliver:4dzd92,finish:o5075b,advance:vjcxb3,block:wyny3w,send:81klfd,wreck:8ps177,crash_midway:7khctt,topple:13szp4,found:2pqwb7,finish:19tjuu,terminate:6scqdx,prove:gbzzqr
`

for (const [, seed, what, script] of REGRESSIONS.matchAll(/^(\d+) (.+)\n {2}(.+)$/gm)) {
  test(`seed ${seed} is mended: ${what}`, async () => {
    expect((await simulate(Number(seed), actionsOf(script!))).failure).toBeUndefined()
  })
}
