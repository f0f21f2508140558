// Generated from backend_impl/protocol/apir.toml by `python -m backend_impl.protocol`. Do not edit.
#pragma once

#include "apir_gen.hpp"

namespace apir {

// Calls visit(name, filled message, golden bytes in hex) for every message of the protocol.
template <typename Visit> void visit_golden(Visit &&visit) {
    {
        CommandHeader m;
        m.type = 2154676604u;
        m.flags = 4290264465u;
        m.reply_resource = 2130885030u;
        visit("command_header", m, "7cc16d80913db8ffa6b9027f");
    }
    {
        Version m;
        m.major = 4266472891u;
        m.minor = 2107093456u;
        visit("version", m, "bb354dfed0b1977d");
    }
    {
        Capset m;
        m.version = 4242681317u;
        m.supports_blob_resources = 2083301882u;
        m.reserved0 = 4218889743u;
        m.reserved1 = 2059510308u;
        m.reserved2 = 4195098169u;
        m.reserved3 = 2035718734u;
        visit("capset", m, "e52de2fcfaa92c7c0f2677fb24a2c17a391e0cfa4e9a5679");
    }
    {
        Graph m;
        m.nodes.resize(2);
        m.nodes[0] = 7681369315930609251ull;
        m.nodes[1] = 635340061544256120ull;
        m.tensors.resize(2);
        m.tensors[0].id = 12036054880867454605ull;
        m.tensors[0].type = 1988135586u;
        m.tensors[0].buffer = 16390740445804299959ull;
        m.tensors[0].ne[0] = 1964344012u;
        m.tensors[0].ne[1] = 4099931873u;
        m.tensors[0].ne[2] = 1940552438u;
        m.tensors[0].ne[3] = 4076140299u;
        m.tensors[0].nb[0] = 1916760864u;
        m.tensors[0].nb[1] = 4052348725u;
        m.tensors[0].nb[2] = 1892969290u;
        m.tensors[0].nb[3] = 4028557151u;
        m.tensors[0].op = 1869177716u;
        m.tensors[0].op_params[0] = -290201719;
        m.tensors[0].op_params[1] = 1845386142u;
        m.tensors[0].op_params[2] = -313993293;
        m.tensors[0].op_params[3] = 1821594568u;
        m.tensors[0].op_params[4] = -337784867;
        m.tensors[0].op_params[5] = 1797802994u;
        m.tensors[0].op_params[6] = -361576441;
        m.tensors[0].op_params[7] = 1774011420u;
        m.tensors[0].op_params[8] = -385368015;
        m.tensors[0].op_params[9] = 1750219846u;
        m.tensors[0].op_params[10] = -409159589;
        m.tensors[0].op_params[11] = 1726428272u;
        m.tensors[0].op_params[12] = -432951163;
        m.tensors[0].op_params[13] = 1702636698u;
        m.tensors[0].op_params[14] = -456742737;
        m.tensors[0].op_params[15] = 1678845124u;
        m.tensors[0].flags = -480534311;
        m.tensors[0].src[0] = 10615391314468281582ull;
        m.tensors[0].src[1] = 3569362060081928451ull;
        m.tensors[0].src[2] = 14970076879405126936ull;
        m.tensors[0].src[3] = 7924047625018773805ull;
        m.tensors[0].src[4] = 878018370632420674ull;
        m.tensors[0].src[5] = 12278733189955619159ull;
        m.tensors[0].src[6] = 5232703935569266028ull;
        m.tensors[0].src[7] = 16633418754892464513ull;
        m.tensors[0].src[8] = 9587389500506111382ull;
        m.tensors[0].src[9] = 2541360246119758251ull;
        m.tensors[0].view_src = 13942075065442956736ull;
        m.tensors[0].view_offs = 6896045811056603605ull;
        m.tensors[0].data = 18296760630379802090ull;
        std::strcpy(m.tensors[0].name, "name 56");
        m.tensors[1].id = 4204702121607095828ull;
        m.tensors[1].type = 3624100393u;
        m.tensors[1].buffer = 8559387686543941182ull;
        m.tensors[1].ne[0] = 3600308819u;
        m.tensors[1].ne[1] = 1440929384u;
        m.tensors[1].ne[2] = 3576517245u;
        m.tensors[1].ne[3] = 1417137810u;
        m.tensors[1].nb[0] = 3552725671u;
        m.tensors[1].nb[1] = 1393346236u;
        m.tensors[1].nb[2] = 3528934097u;
        m.tensors[1].nb[3] = 1369554662u;
        m.tensors[1].op = 3505142523u;
        m.tensors[1].op_params[0] = 1345763088u;
        m.tensors[1].op_params[1] = -813616347;
        m.tensors[1].op_params[2] = 1321971514u;
        m.tensors[1].op_params[3] = -837407921;
        m.tensors[1].op_params[4] = 1298179940u;
        m.tensors[1].op_params[5] = -861199495;
        m.tensors[1].op_params[6] = 1274388366u;
        m.tensors[1].op_params[7] = -884991069;
        m.tensors[1].op_params[8] = 1250596792u;
        m.tensors[1].op_params[9] = -908782643;
        m.tensors[1].op_params[10] = 1226805218u;
        m.tensors[1].op_params[11] = -932574217;
        m.tensors[1].op_params[12] = 1203013644u;
        m.tensors[1].op_params[13] = -956365791;
        m.tensors[1].op_params[14] = 1179222070u;
        m.tensors[1].op_params[15] = -980157365;
        m.tensors[1].flags = 1155430496u;
        m.tensors[1].src[0] = 2784038555207922805ull;
        m.tensors[1].src[1] = 14184753374531121290ull;
        m.tensors[1].src[2] = 7138724120144768159ull;
        m.tensors[1].src[3] = 92694865758415028ull;
        m.tensors[1].src[4] = 11493409685081613513ull;
        m.tensors[1].src[5] = 4447380430695260382ull;
        m.tensors[1].src[6] = 15848095250018458867ull;
        m.tensors[1].src[7] = 8802065995632105736ull;
        m.tensors[1].src[8] = 1756036741245752605ull;
        m.tensors[1].src[9] = 13156751560568951090ull;
        m.tensors[1].view_src = 6110722306182597959ull;
        m.tensors[1].view_offs = 17511437125505796444ull;
        m.tensors[1].data = 10465407871119443313ull;
        std::strcpy(m.tensors[1].name, "name 99");
        visit("graph", m, "020000006316a1f8b1b4996a7892eb776b2ed108020000008d0e36f724a808a7a28a807600000000b706cbf5979b77e3cc821575e1fe5ff4f67aaa730bf7f4f220733f7235ef89f14a6bd4705fe71ef07463696f89dfb3ee9e5bfe6db3d748edc853936cddcfddebf24b286b07c872ea1c44bd6931c007e9463c52685bb89ce77034e76685b031e69a2c7c65afa8c6e4c4241164d9a05be3ee1ca662287251930399f0e1e1eb883118153b619b65c0cf2d9185e054dff76d420dd05f0e592f0c57891adfc7d266aa6c05655e814c9e488181afdd3ac6d5e696fdf95cf43f0d85ab7944dcadb94423c0f58e5b67337cc1d571d9da20adb35feaed235ada26ebfd6e616d65203536000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000014e6b8584d1a5a3a296203d8000000003ede4d57c00dc976535a98d668d6e2557d522dd592ce7754a74ac2d3bcc60c53d14257d2e6bea151fb3aecd010b73650253381cf3aafcb4e4f2b16ce64a7604d7923abcc8e9ff54ba31b40cbb8978a4acd13d5c9e28f1f49f70b6ac80c88b4472104ffc6368049464bfc93c56078de4475f428c450e4a2268a7073430a5edac49fecbdc2c3d71163b46808427d514901c9e452c136cb809fde609d40f044b83df3dce7bfa9beefdb0859323f6338277a1dd57cbe1cb25e183251c73dd62b96b647cd11bd8fa5cd545c495c3c491f05f371c5a6bb02993c916e616d652039390000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000");
    }
    {
        WideGraph m;
        m.nodes.resize(2);
        m.nodes[0] = 14820093436056288667ull;
        m.nodes[1] = 7774064181669935536ull;
        m.tensors.resize(2);
        m.tensors[0].id = 728034927283582405ull;
        m.tensors[0].type = 941306330u;
        m.tensors[0].op = 3076894191u;
        m.tensors[0].buffer = 16483435311543626244ull;
        m.tensors[0].ne[0] = -9009338016552278503ll;
        m.tensors[0].ne[1] = 2391376802770919982ull;
        m.tensors[0].ne[2] = -4654652451615433149ll;
        m.tensors[0].ne[3] = 6746062367707765336ull;
        m.tensors[0].nb[0] = 18146777187030963821ull;
        m.tensors[0].nb[1] = 11100747932644610690ull;
        m.tensors[0].nb[2] = 4054718678258257559ull;
        m.tensors[0].nb[3] = 15455433497581456044ull;
        m.tensors[0].op_params[0] = -1337030975;
        m.tensors[0].op_params[1] = 798556886u;
        m.tensors[0].op_params[2] = -1360822549;
        m.tensors[0].op_params[3] = 774765312u;
        m.tensors[0].op_params[4] = -1384614123;
        m.tensors[0].op_params[5] = 750973738u;
        m.tensors[0].op_params[6] = -1408405697;
        m.tensors[0].op_params[7] = 727182164u;
        m.tensors[0].op_params[8] = -1432197271;
        m.tensors[0].op_params[9] = 703390590u;
        m.tensors[0].op_params[10] = -1455988845;
        m.tensors[0].op_params[11] = 679599016u;
        m.tensors[0].op_params[12] = -1479780419;
        m.tensors[0].op_params[13] = 655807442u;
        m.tensors[0].op_params[14] = -1503571993;
        m.tensors[0].op_params[15] = 632015868u;
        m.tensors[0].flags = -1527363567;
        m.tensors[0].src[0] = 17754115434593960998ull;
        m.tensors[0].src[1] = 10708086180207607867ull;
        m.tensors[0].src[2] = 3662056925821254736ull;
        m.tensors[0].src[3] = 15062771745144453221ull;
        m.tensors[0].src[4] = 8016742490758100090ull;
        m.tensors[0].src[5] = 970713236371746959ull;
        m.tensors[0].src[6] = 12371428055694945444ull;
        m.tensors[0].src[7] = 5325398801308592313ull;
        m.tensors[0].src[8] = 16726113620631790798ull;
        m.tensors[0].src[9] = 9680084366245437667ull;
        m.tensors[0].view_src = 2634055111859084536ull;
        m.tensors[0].view_offs = 14034769931182283021ull;
        m.tensors[0].data = 6988740676795929890ull;
        std::strcpy(m.tensors[0].name, "name 144");
        m.tensors[1].id = 11343426241732775244ull;
        m.tensors[1].type = 2577271137u;
        m.tensors[1].op = 417891702u;
        m.tensors[1].buffer = 8652082552283267467ull;
        m.tensors[1].ne[0] = 1606053297896914336ull;
        m.tensors[1].ne[1] = -5439975956489438795ll;
        m.tensors[1].ne[2] = 5960738862833759690ull;
        m.tensors[1].ne[3] = -1085290391552593441ll;
        m.tensors[1].nb[0] = 10315424427770605044ull;
        m.tensors[1].nb[1] = 3269395173384251913ull;
        m.tensors[1].nb[2] = 14670109992707450398ull;
        m.tensors[1].nb[3] = 7624080738321097267ull;
        m.tensors[1].op_params[0] = 298933832u;
        m.tensors[1].op_params[1] = -1860445603;
        m.tensors[1].op_params[2] = 275142258u;
        m.tensors[1].op_params[3] = -1884237177;
        m.tensors[1].op_params[4] = 251350684u;
        m.tensors[1].op_params[5] = -1908028751;
        m.tensors[1].op_params[6] = 227559110u;
        m.tensors[1].op_params[7] = -1931820325;
        m.tensors[1].op_params[8] = 203767536u;
        m.tensors[1].op_params[9] = -1955611899;
        m.tensors[1].op_params[10] = 179975962u;
        m.tensors[1].op_params[11] = -1979403473;
        m.tensors[1].op_params[12] = 156184388u;
        m.tensors[1].op_params[13] = -2003195047;
        m.tensors[1].op_params[14] = 132392814u;
        m.tensors[1].op_params[15] = -2026986621;
        m.tensors[1].flags = 108601240u;
        m.tensors[1].src[0] = 9922762675333602221ull;
        m.tensors[1].src[1] = 2876733420947249090ull;
        m.tensors[1].src[2] = 14277448240270447575ull;
        m.tensors[1].src[3] = 7231418985884094444ull;
        m.tensors[1].src[4] = 185389731497741313ull;
        m.tensors[1].src[5] = 11586104550820939798ull;
        m.tensors[1].src[6] = 4540075296434586667ull;
        m.tensors[1].src[7] = 15940790115757785152ull;
        m.tensors[1].src[8] = 8894760861371432021ull;
        m.tensors[1].src[9] = 1848731606985078890ull;
        m.tensors[1].view_src = 13249446426308277375ull;
        m.tensors[1].view_offs = 6203417171921924244ull;
        m.tensors[1].data = 17604131991245122729ull;
        std::strcpy(m.tensors[1].name, "name 187");
        visit("wide_graph", m, "020000009bbd3bba758cabcdb03986392f06e36b02000000c5b5d0b8e87f1a0ada311b38efad65b7042ab03615edc0e419a6fab5ce66f8822e22453588e02f21439e8fb4415a67bf581ada33fbd39e5d6d9624b3b44dd6fb82126f326ec70d9a978eb9b127414538ac0a0431e1ba7cd6c1864eb0d602992feb7ee3ae00fb2d2e157778ad2af3c22c3f6f0dac54eb572b6967a2aa7ee3ec29935f37a9a8db8128bd57cca7d2d31627e74f61a6fccbab251148f6a40000000026c44024ec4963f63b408ba3a5c39a9450bcd5225f3dd232653820a218b709d17ab46a21d230416f8f30b5a08baa780da4acff1f4524b0abb9284a9ffe9de749cea4941eb8171fe8e320df9d71915686f89c291d2b0b8e240d19749ce484c5c22295be1b9efefc606e616d652031343400000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000004c8d531a11f26b9d61099e997685e8188b0133983d5f1278a07d7d17f7d84916b5f9c796b05281b4ca7512166accb852dff15c952346f0f0f46da714ddbf278f09eaf19396395f2d1e663c1350b396cb33e28692092dce69485ed1115dda1b917256661087d2b08f9c4efb0eb1ca458ec646900ddbc2da8cf03e250c05bb6f8b1a37ba0a2fb3048a442f4f0959ab99886e27e40783a32e87981f790600000000ad9bc38514bcb489c2170e05ce35ec27d793588487af23c6ec0fa30341295b64018ced82faa2920216083802b41ccaa02b8482816d96013f4000cd00271039dd557c1780e089707b6af861ff9903a8197f74ac7e537ddfb794f0f6fd0cf71656a96c417dc6704ef46e616d65203138370000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000");
    }
    {
        ReplyTiming m;
        m.queue_ns = 3512073482472416467ull;
        m.compute_ns = 14912788301795614952ull;
        visit("reply_timing", m, "d364d67b3964bd30e8e020fbf2ddf4ce");
    }
    {
        GraphChanges m;
        m.positions.resize(2);
        m.positions[0] = 2053856509u;
        m.positions[1] = 4189444370u;
        m.tensors.resize(2);
        m.tensors[0].id = 12221444612346107175ull;
        m.tensors[0].type = 4165652796u;
        m.tensors[0].buffer = 16576130177282952529ull;
        m.tensors[0].ne[0] = 4141861222u;
        m.tensors[0].ne[1] = 1982481787u;
        m.tensors[0].ne[2] = 4118069648u;
        m.tensors[0].ne[3] = 1958690213u;
        m.tensors[0].nb[0] = 4094278074u;
        m.tensors[0].nb[1] = 1934898639u;
        m.tensors[0].nb[2] = 4070486500u;
        m.tensors[0].nb[3] = 1911107065u;
        m.tensors[0].op = 4046694926u;
        m.tensors[0].op_params[0] = 1887315491u;
        m.tensors[0].op_params[1] = -272063944;
        m.tensors[0].op_params[2] = 1863523917u;
        m.tensors[0].op_params[3] = -295855518;
        m.tensors[0].op_params[4] = 1839732343u;
        m.tensors[0].op_params[5] = -319647092;
        m.tensors[0].op_params[6] = 1815940769u;
        m.tensors[0].op_params[7] = -343438666;
        m.tensors[0].op_params[8] = 1792149195u;
        m.tensors[0].op_params[9] = -367230240;
        m.tensors[0].op_params[10] = 1768357621u;
        m.tensors[0].op_params[11] = -391021814;
        m.tensors[0].op_params[12] = 1744566047u;
        m.tensors[0].op_params[13] = -414813388;
        m.tensors[0].op_params[14] = 1720774473u;
        m.tensors[0].op_params[15] = -438604962;
        m.tensors[0].flags = 1696982899u;
        m.tensors[0].src[0] = 10800781045946934152ull;
        m.tensors[0].src[1] = 3754751791560581021ull;
        m.tensors[0].src[2] = 15155466610883779506ull;
        m.tensors[0].src[3] = 8109437356497426375ull;
        m.tensors[0].src[4] = 1063408102111073244ull;
        m.tensors[0].src[5] = 12464122921434271729ull;
        m.tensors[0].src[6] = 5418093667047918598ull;
        m.tensors[0].src[7] = 16818808486371117083ull;
        m.tensors[0].src[8] = 9772779231984763952ull;
        m.tensors[0].src[9] = 2726749977598410821ull;
        m.tensors[0].view_src = 14127464796921609306ull;
        m.tensors[0].view_offs = 7081435542535256175ull;
        m.tensors[0].data = 35406288148903044ull;
        std::strcpy(m.tensors[0].name, "name 234");
        m.tensors[1].id = 4390091853085748398ull;
        m.tensors[1].type = 1506650307u;
        m.tensors[1].buffer = 8744777418022593752ull;
        m.tensors[1].ne[0] = 1482858733u;
        m.tensors[1].ne[1] = 3618446594u;
        m.tensors[1].ne[2] = 1459067159u;
        m.tensors[1].ne[3] = 3594655020u;
        m.tensors[1].nb[0] = 1435275585u;
        m.tensors[1].nb[1] = 3570863446u;
        m.tensors[1].nb[2] = 1411484011u;
        m.tensors[1].nb[3] = 3547071872u;
        m.tensors[1].op = 1387692437u;
        m.tensors[1].op_params[0] = -771686998;
        m.tensors[1].op_params[1] = 1363900863u;
        m.tensors[1].op_params[2] = -795478572;
        m.tensors[1].op_params[3] = 1340109289u;
        m.tensors[1].op_params[4] = -819270146;
        m.tensors[1].op_params[5] = 1316317715u;
        m.tensors[1].op_params[6] = -843061720;
        m.tensors[1].op_params[7] = 1292526141u;
        m.tensors[1].op_params[8] = -866853294;
        m.tensors[1].op_params[9] = 1268734567u;
        m.tensors[1].op_params[10] = -890644868;
        m.tensors[1].op_params[11] = 1244942993u;
        m.tensors[1].op_params[12] = -914436442;
        m.tensors[1].op_params[13] = 1221151419u;
        m.tensors[1].op_params[14] = -938228016;
        m.tensors[1].op_params[15] = 1197359845u;
        m.tensors[1].flags = -962019590;
        m.tensors[1].src[0] = 2969428286686575375ull;
        m.tensors[1].src[1] = 14370143106009773860ull;
        m.tensors[1].src[2] = 7324113851623420729ull;
        m.tensors[1].src[3] = 278084597237067598ull;
        m.tensors[1].src[4] = 11678799416560266083ull;
        m.tensors[1].src[5] = 4632770162173912952ull;
        m.tensors[1].src[6] = 16033484981497111437ull;
        m.tensors[1].src[7] = 8987455727110758306ull;
        m.tensors[1].src[8] = 1941426472724405175ull;
        m.tensors[1].src[9] = 13342141292047603660ull;
        m.tensors[1].view_src = 6296112037661250529ull;
        m.tensors[1].view_offs = 17696826856984449014ull;
        m.tensors[1].data = 10650797602598095883ull;
        std::strcpy(m.tensors[1].name, "name 277");
        visit("graph_changes", m, "02000000fd5c6b7a12d9b5f902000000275500791f4b9ba93cd14af800000000514d9577923e0ae666c9dff67b452a7690c174f5a53dbf74bab909f4cf355473e4b19ef2f92de9710eaa33f123267e7038a2c8ef4d1e136f629a5dee7716a86d8c92f2eca10e3d6cb68a87ebcb06d26ae0821ceaf5fe66690a7bb1e81ff7fb67347346e749ef90665e6bdbe573e72565886370e42215e4959ddfba63dc8e1b34b25b05e3950853d2c7d74f624f828a70dc539ae108fcc10ef1cfe460c275f9ac064c2fe07bef304b1bc8795f356968e93044c4deeee29f8745c00e5ea85cd7255a3c59dd61d60ec46fb8a35c1b5046628434eedbd4c97d006e616d652032333400000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000ae2c83da47bdec3cc3a8cd5900000000d82418d9bab05b79eda06258021dadd71799f7562c1542d641918c55560dd7d46b89215480056cd39581b652aafd00d2bf794b51d4f595d0e971e04ffeed2acf136a754e28e6bfcd3d620a4d52de54cc675a9f4b7cd6e9ca9152344aa6ce7ec9bb4ac948d0c613c8e5425e47fabea8c60f3bf3454b87352924b73dc504016dc739338844be7aa4654eafd2c377f4db03632b1d43316e13a278a767c2eae74a408d23b241a46182dea29ffcc05ddbb97cb71b47401755f11acc9791bfd0ce28b9e113dc3e8a486057f68f26be43c297f50b0c713dfd3bcf936e616d652032373700000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000");
    }
    {
        WideGraphChanges m;
        m.positions.resize(2);
        m.positions[0] = 1007027253u;
        m.positions[1] = 3142615114u;
        m.tensors.resize(2);
        m.tensors[0].id = 913424658762234975ull;
        m.tensors[0].type = 3118823540u;
        m.tensors[0].op = 959444105u;
        m.tensors[0].buffer = 16668825043022278814ull;
        m.tensors[0].ne[0] = -8823948285073625933ll;
        m.tensors[0].ne[1] = 2576766534249572552ull;
        m.tensors[0].ne[2] = -4469262720136780579ll;
        m.tensors[0].ne[3] = 6931452099186417906ull;
        m.tensors[0].nb[0] = 18332166918509616391ull;
        m.tensors[0].nb[1] = 11286137664123263260ull;
        m.tensors[0].nb[2] = 4240108409736910129ull;
        m.tensors[0].nb[3] = 15640823229060108614ull;
        m.tensors[0].op_params[0] = 840486235u;
        m.tensors[0].op_params[1] = -1318893200;
        m.tensors[0].op_params[2] = 816694661u;
        m.tensors[0].op_params[3] = -1342684774;
        m.tensors[0].op_params[4] = 792903087u;
        m.tensors[0].op_params[5] = -1366476348;
        m.tensors[0].op_params[6] = 769111513u;
        m.tensors[0].op_params[7] = -1390267922;
        m.tensors[0].op_params[8] = 745319939u;
        m.tensors[0].op_params[9] = -1414059496;
        m.tensors[0].op_params[10] = 721528365u;
        m.tensors[0].op_params[11] = -1437851070;
        m.tensors[0].op_params[12] = 697736791u;
        m.tensors[0].op_params[13] = -1461642644;
        m.tensors[0].op_params[14] = 673945217u;
        m.tensors[0].op_params[15] = -1485434218;
        m.tensors[0].flags = 650153643u;
        m.tensors[0].src[0] = 17939505166072613568ull;
        m.tensors[0].src[1] = 10893475911686260437ull;
        m.tensors[0].src[2] = 3847446657299907306ull;
        m.tensors[0].src[3] = 15248161476623105791ull;
        m.tensors[0].src[4] = 8202132222236752660ull;
        m.tensors[0].src[5] = 1156102967850399529ull;
        m.tensors[0].src[6] = 12556817787173598014ull;
        m.tensors[0].src[7] = 5510788532787244883ull;
        m.tensors[0].src[8] = 16911503352110443368ull;
        m.tensors[0].src[9] = 9865474097724090237ull;
        m.tensors[0].view_src = 2819444843337737106ull;
        m.tensors[0].view_offs = 14220159662660935591ull;
        m.tensors[0].data = 7174130408274582460ull;
        std::strcpy(m.tensors[0].name, "name 322");
        m.tensors[1].id = 11528815973211427814ull;
        m.tensors[1].type = 459821051u;
        m.tensors[1].op = 2595408912u;
        m.tensors[1].buffer = 8837472283761920037ull;
        m.tensors[1].ne[0] = 1791443029375566906ull;
        m.tensors[1].ne[1] = -5254586225010786225ll;
        m.tensors[1].ne[2] = 6146128594312412260ull;
        m.tensors[1].ne[3] = -899900660073940871ll;
        m.tensors[1].nb[0] = 10500814159249257614ull;
        m.tensors[1].nb[1] = 3454784904862904483ull;
        m.tensors[1].nb[2] = 14855499724186102968ull;
        m.tensors[1].nb[3] = 7809470469799749837ull;
        m.tensors[1].op_params[0] = -1818516254;
        m.tensors[1].op_params[1] = 317071607u;
        m.tensors[1].op_params[2] = -1842307828;
        m.tensors[1].op_params[3] = 293280033u;
        m.tensors[1].op_params[4] = -1866099402;
        m.tensors[1].op_params[5] = 269488459u;
        m.tensors[1].op_params[6] = -1889890976;
        m.tensors[1].op_params[7] = 245696885u;
        m.tensors[1].op_params[8] = -1913682550;
        m.tensors[1].op_params[9] = 221905311u;
        m.tensors[1].op_params[10] = -1937474124;
        m.tensors[1].op_params[11] = 198113737u;
        m.tensors[1].op_params[12] = -1961265698;
        m.tensors[1].op_params[13] = 174322163u;
        m.tensors[1].op_params[14] = -1985057272;
        m.tensors[1].op_params[15] = 150530589u;
        m.tensors[1].flags = -2008848846;
        m.tensors[1].src[0] = 10108152406812254791ull;
        m.tensors[1].src[1] = 3062123152425901660ull;
        m.tensors[1].src[2] = 14462837971749100145ull;
        m.tensors[1].src[3] = 7416808717362747014ull;
        m.tensors[1].src[4] = 370779462976393883ull;
        m.tensors[1].src[5] = 11771494282299592368ull;
        m.tensors[1].src[6] = 4725465027913239237ull;
        m.tensors[1].src[7] = 16126179847236437722ull;
        m.tensors[1].src[8] = 9080150592850084591ull;
        m.tensors[1].src[9] = 2034121338463731460ull;
        m.tensors[1].view_src = 13434836157786929945ull;
        m.tensors[1].view_offs = 6388806903400576814ull;
        m.tensors[1].data = 17789521722723775299ull;
        std::strcpy(m.tensors[1].name, "name 365");
        visit("wide_graph_changes", m, "020000003504063c4a8050bb020000005ffc9a3ae322ad0c7478e5b989f42f399e707ab80f9053e7b3ecc437c9098b85c8680fb78283c223dde459363cfdf9c1f260a4b5f576316007ddee34aff068fe1c5939b4686aa09c31d5833322e4d73a4651ceb2db5d0fd95bcd1832704963b185c5ad309a41f8afafbd422fc4398daed9b5d72dee3122ad03ae6c2c182ab7ab2da6012b42224caa579e96296c1ae1a881962b28961276a7ab8ec02600000000c00a0ba6e6ecf5f8d5865525a0662d97ea02a0a459e06435ff7eea23135a9cd314fb34a3ccd3d37129777f22864d0b103ef3c9a13fc742ae536f1421f9407a4c68eb5ea0b2bab1ea7d67a91f6c34e98892e3f39e25ae2027a75f3e1edf2758c5bcdb889d98a18f636e616d65203332320000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000e6d31d9c0b95fe9ffb4f681b10ccb29a2548fd193802a57a3ac44799f17bdc184f409218abf513b764bcdc97646f4b55793827171ee982f38eb47196d762ba91a330bc1591dcf12fb8ac06954a5629cecd28511404d0606ce2a49b93f720e6120c9d309221197b113695c5904b111010608d5a8f7509a50e8a85ef8d9f013a0db47d848cc9f9ce0bde75198bf3f1630a086eae891deaf808326643880000000047e28d070f5f478c5c5ed886c8d87e2a71da22068252b6c886566d853bcced669bd2b704f5452505b04e0284aebf5ca3c5ca4c0368399441da46978221b3cbdfefc2e101db2c037e043f2c8194a63a1c19bb76004e2072ba2e37c17f079aa95843b30bffc013e1f66e616d65203336350000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000");
    }
    {
        BatchedCall m;
        m.device = 4255165293u;
        m.call = 2095785858u;
        m.size = 4231373719u;
        visit("batched_call", m, "6daba0fd8227eb7c97a335fc");
    }
    {
        DeviceGetDeviceCountRequest m;
        visit("device_get_device_count_request", m, "");
    }
    {
        DeviceGetDeviceCountReply m;
        m.count = 2071994284u;
        visit("device_get_device_count_reply", m, "ac1f807b");
    }
    {
        DeviceGetCountRequest m;
        visit("device_get_count_request", m, "");
    }
    {
        DeviceGetCountReply m;
        m.count = -87385151;
        visit("device_get_count_reply", m, "c19bcafa");
    }
    {
        DeviceGetNameRequest m;
        visit("device_get_name_request", m, "");
    }
    {
        DeviceGetNameReply m;
        m.name = "text 371";
        visit("device_get_name_reply", m, "0900000000000000746578742033373100000000");
    }
    {
        DeviceGetDescriptionRequest m;
        visit("device_get_description_request", m, "");
    }
    {
        DeviceGetDescriptionReply m;
        m.description = "text 372";
        visit("device_get_description_reply", m, "0900000000000000746578742033373200000000");
    }
    {
        DeviceGetTypeRequest m;
        visit("device_get_type_request", m, "");
    }
    {
        DeviceGetTypeReply m;
        m.type = 2024411136u;
        visit("device_get_type_reply", m, "0010aa78");
    }
    {
        DeviceGetMemoryRequest m;
        visit("device_get_memory_request", m, "");
    }
    {
        DeviceGetMemoryReply m;
        m.free = 2669461399988898837ull;
        m.total = 14070176219312097322ull;
        visit("device_get_memory_reply", m, "158cf4f7ffd40b252a083f77b94e43c3");
    }
    {
        DeviceSupportsOpRequest m;
        m.op.tensor.type = 4136207423u;
        m.op.tensor.buffer = 1u;
        m.op.tensor.ne[0] = -7067911543846962071ll;
        m.op.tensor.ne[1] = 4332803275476236414ull;
        m.op.tensor.ne[2] = -2713225978910116717ll;
        m.op.tensor.ne[3] = 8687488840413081768ull;
        m.op.tensor.nb[0] = 1641459586026728637ull;
        m.op.tensor.nb[1] = 13042174405349927122ull;
        m.op.tensor.nb[2] = 5996145150963573991ull;
        m.op.tensor.nb[3] = 17396859970286772476ull;
        m.op.tensor.op = 4017249553u;
        m.op.tensor.op_params[0] = 1857870118u;
        m.op.tensor.op_params[1] = -301509317;
        m.op.tensor.op_params[2] = 1834078544u;
        m.op.tensor.op_params[3] = -325300891;
        m.op.tensor.op_params[4] = 1810286970u;
        m.op.tensor.op_params[5] = -349092465;
        m.op.tensor.op_params[6] = 1786495396u;
        m.op.tensor.op_params[7] = -372884039;
        m.op.tensor.op_params[8] = 1762703822u;
        m.op.tensor.op_params[9] = -396675613;
        m.op.tensor.op_params[10] = 1738912248u;
        m.op.tensor.op_params[11] = -420467187;
        m.op.tensor.op_params[12] = 1715120674u;
        m.op.tensor.op_params[13] = -444258761;
        m.op.tensor.op_params[14] = 1691329100u;
        m.op.tensor.op_params[15] = -468050335;
        m.op.tensor.flags = 1667537526u;
        m.op.tensor.src[0] = 3u;
        m.op.tensor.src[1] = 4u;
        m.op.tensor.src[2] = 0u;
        m.op.tensor.src[3] = 0u;
        m.op.tensor.src[4] = 0u;
        m.op.tensor.src[5] = 0u;
        m.op.tensor.src[6] = 0u;
        m.op.tensor.src[7] = 0u;
        m.op.tensor.src[8] = 0u;
        m.op.tensor.src[9] = 0u;
        m.op.tensor.view_src = 2u;
        m.op.tensor.view_offs = 8930167149501246322ull;
        m.op.tensor.data = 1884137895114893191ull;
        std::strcpy(m.op.tensor.name, "name 417");
        m.op.tensor.extra = 6238823460051738545ull;
        m.op.handle = 17639538279374937030ull;
        m.op.view_src.type = 3612792795u;
        m.op.view_src.buffer = 3547479770602230768ull;
        m.op.view_src.ne[0] = -3498549483784122363ll;
        m.op.view_src.ne[1] = 7902165335539076122ull;
        m.op.view_src.ne[2] = 856136081152722991ull;
        m.op.view_src.ne[3] = -6189893173233630140ll;
        m.op.view_src.nb[0] = 5210821646089568345ull;
        m.op.view_src.nb[1] = 16611536465412766830ull;
        m.op.view_src.nb[2] = 9565507211026413699ull;
        m.op.view_src.nb[3] = 2519477956640060568ull;
        m.op.view_src.op = 3493834925u;
        m.op.view_src.op_params[0] = 1334455490u;
        m.op.view_src.op_params[1] = -824923945;
        m.op.view_src.op_params[2] = 1310663916u;
        m.op.view_src.op_params[3] = -848715519;
        m.op.view_src.op_params[4] = 1286872342u;
        m.op.view_src.op_params[5] = -872507093;
        m.op.view_src.op_params[6] = 1263080768u;
        m.op.view_src.op_params[7] = -896298667;
        m.op.view_src.op_params[8] = 1239289194u;
        m.op.view_src.op_params[9] = -920090241;
        m.op.view_src.op_params[10] = 1215497620u;
        m.op.view_src.op_params[11] = -943881815;
        m.op.view_src.op_params[12] = 1191706046u;
        m.op.view_src.op_params[13] = -967673389;
        m.op.view_src.op_params[14] = 1167914472u;
        m.op.view_src.op_params[15] = -991464963;
        m.op.view_src.flags = 1144122898u;
        m.op.view_src.src[0] = 16218874712975764007ull;
        m.op.view_src.src[1] = 9172845458589410876ull;
        m.op.view_src.src[2] = 2126816204203057745ull;
        m.op.view_src.src[3] = 13527531023526256230ull;
        m.op.view_src.src[4] = 6481501769139903099ull;
        m.op.view_src.src[5] = 17882216588463101584ull;
        m.op.view_src.src[6] = 10836187334076748453ull;
        m.op.view_src.src[7] = 3790158079690395322ull;
        m.op.view_src.src[8] = 15190872899013593807ull;
        m.op.view_src.src[9] = 8144843644627240676ull;
        m.op.view_src.view_src = 1098814390240887545ull;
        m.op.view_src.view_offs = 12499529209564086030ull;
        m.op.view_src.data = 5453499955177732899ull;
        std::strcpy(m.op.view_src.name, "name 461");
        m.op.view_src.extra = 9808185520114578253ull;
        m.op.src[0].type = 953790306u;
        m.op.src[0].buffer = 14162871085051423607ull;
        m.op.src[0].ne[0] = 7116841830665070476ull;
        m.op.src[0].ne[1] = 70812576278717345ull;
        m.op.src[0].ne[2] = -6975216678107635786ll;
        m.op.src[0].ne[3] = 4425498141215562699ull;
        m.op.src[0].nb[0] = 15826212960538761184ull;
        m.op.src[0].nb[1] = 8780183706152408053ull;
        m.op.src[0].nb[2] = 1734154451766054922ull;
        m.op.src[0].nb[3] = 13134869271089253407ull;
        m.op.src[0].op = 834832436u;
        m.op.src[0].op_params[0] = -1324546999;
        m.op.src[0].op_params[1] = 811040862u;
        m.op.src[0].op_params[2] = -1348338573;
        m.op.src[0].op_params[3] = 787249288u;
        m.op.src[0].op_params[4] = -1372130147;
        m.op.src[0].op_params[5] = 763457714u;
        m.op.src[0].op_params[6] = -1395921721;
        m.op.src[0].op_params[7] = 739666140u;
        m.op.src[0].op_params[8] = -1419713295;
        m.op.src[0].op_params[9] = 715874566u;
        m.op.src[0].op_params[10] = -1443504869;
        m.op.src[0].op_params[11] = 692082992u;
        m.op.src[0].op_params[12] = -1467296443;
        m.op.src[0].op_params[13] = 668291418u;
        m.op.src[0].op_params[14] = -1491088017;
        m.op.src[0].op_params[15] = 644499844u;
        m.op.src[0].flags = -1514879591;
        m.op.src[0].src[0] = 8387521953715405230ull;
        m.op.src[0].src[1] = 1341492699329052099ull;
        m.op.src[0].src[2] = 12742207518652250584ull;
        m.op.src[0].src[3] = 5696178264265897453ull;
        m.op.src[0].src[4] = 17096893083589095938ull;
        m.op.src[0].src[5] = 10050863829202742807ull;
        m.op.src[0].src[6] = 3004834574816389676ull;
        m.op.src[0].src[7] = 14405549394139588161ull;
        m.op.src[0].src[8] = 7359520139753235030ull;
        m.op.src[0].src[9] = 313490885366881899ull;
        m.op.src[0].view_src = 11714205704690080384ull;
        m.op.src[0].view_offs = 4668176450303727253ull;
        m.op.src[0].data = 16068891269626925738ull;
        std::strcpy(m.op.src[0].name, "name 504");
        m.op.src[0].extra = 1976832760854219476ull;
        m.op.src[1].type = 2589755113u;
        m.op.src[1].buffer = 6331518325791064830ull;
        m.op.src[1].ne[0] = -714510928595288301ll;
        m.op.src[1].ne[1] = -7760540182981641432ll;
        m.op.src[1].ne[2] = 3640174636341557053ull;
        m.op.src[1].ne[3] = -3405854618044796078ll;
        m.op.src[1].nb[0] = 7994860201278402407ull;
        m.op.src[1].nb[1] = 948830946892049276ull;
        m.op.src[1].nb[2] = 12349545766215247761ull;
        m.op.src[1].nb[3] = 5303516511828894630ull;
        m.op.src[1].op = 2470797243u;
        m.op.src[1].op_params[0] = 311417808u;
        m.op.src[1].op_params[1] = -1847961627;
        m.op.src[1].op_params[2] = 287626234u;
        m.op.src[1].op_params[3] = -1871753201;
        m.op.src[1].op_params[4] = 263834660u;
        m.op.src[1].op_params[5] = -1895544775;
        m.op.src[1].op_params[6] = 240043086u;
        m.op.src[1].op_params[7] = -1919336349;
        m.op.src[1].op_params[8] = 216251512u;
        m.op.src[1].op_params[9] = -1943127923;
        m.op.src[1].op_params[10] = 192459938u;
        m.op.src[1].op_params[11] = -1966919497;
        m.op.src[1].op_params[12] = 168668364u;
        m.op.src[1].op_params[13] = -1990711071;
        m.op.src[1].op_params[14] = 144876790u;
        m.op.src[1].op_params[15] = -2014502645;
        m.op.src[1].flags = 121085216u;
        m.op.src[1].src[0] = 556169194455046453ull;
        m.op.src[1].src[1] = 11956884013778244938ull;
        m.op.src[1].src[2] = 4910854759391891807ull;
        m.op.src[1].src[3] = 16311569578715090292ull;
        m.op.src[1].src[4] = 9265540324328737161ull;
        m.op.src[1].src[5] = 2219511069942384030ull;
        m.op.src[1].src[6] = 13620225889265582515ull;
        m.op.src[1].src[7] = 6574196634879229384ull;
        m.op.src[1].src[8] = 17974911454202427869ull;
        m.op.src[1].src[9] = 10928882199816074738ull;
        m.op.src[1].view_src = 3882852945429721607ull;
        m.op.src[1].view_offs = 15283567764752920092ull;
        m.op.src[1].data = 8237538510366566961ull;
        std::strcpy(m.op.src[1].name, "name 547");
        m.op.src[1].extra = 12592224075303412315ull;
        visit("device_supports_op_request", m, "3f8489f6000000000100000000000000697c1ef5e5bbe99d7ef868749f35213c9374b3f358af58daa8f0fd7212299078bd6c48f2cba2c716d2e89271851cffb4e764ddf03e963653fce02770f80f6ef1115d72ef26d9bc6e3b5507ee50d1516d654d9cec7ac9e66b8f4531eba4c17b6ab93dc6e9ceb91069e3355be8f8b1a5670d2ef0e622aa3a66372685e54ca2cf64611e1ae4769a646303000000000000000400000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000200000000000000726be25ab553ee7b87e72cda6ecd251a6e616d65203431370000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000b1dfc1d8e1c094560000000000000000c65b0c589b3accf4dbd756d700000000f053a1560e2e3b3105d0ebd5c7a772cf1a4c36558121aa6d2fc880d43a9be10b4444cb53f41419aa59c015d3ad8e50486e3c6052670888e683b8aad12082bf849834f550dafbf622adb03fd0c22c8a4fd7a8d4ceec241f4e01a169cd161db44c2b99fecb4015494b559193ca6a0dde497f8928c994057348a981bdc7befd0747d37952c6e8f59c45fd71e7c412ee3144276a7cc39e0415e13ce6c642587e4c7f516211c211f8831d66de5b41cb71bbbb7b5aa6c084ebf25990d6f03f3e652af8a5523bbff7de6196bace853eb1589934cf4ad0bd6ad2d0d2e4c61a3d244c0871f94265bcddc53f0f0ebfaf3b973f77ad233bfaba50b9ae4b6e616d652034363100000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000004d338fb9c3ac1d88000000000000000062afd93800000000772b24b836a08cc48ca76e37f019c462a123b9b6a993fb00b69f0336630d339fcb1b4eb51c876a3de0979834d600a2dbf513e3b38f7ad9790a902d3349f410181f0c78b2026e48b63488c23149040db15e80573073fca1af8878ec2e9df436aeb270812dc7eccbacdc68162cf1e460ab0661ab2a1bddf5a93059402945d58aa85a51d5276fcd1fa784496a2699c5b4a5ae41ff24c7766674c3bd49a480f09d12d83994233a6ad5b0edb5dea2f3e30c4f02322922ad5d44ed17ae73a166d77b8b2c2abe202051b32941a608a0d9caeac75622531f934422666b9e9d9e4cbe5904801ae81d063891a29596329dbfb1c840aa127d1c792b00df6e616d65203530340000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000d40a121bec1e6f1b0000000000000000e9865c9a00000000fe02a7195f12de57137ff198188c15f628fb3b18d2054d943d7786978b7f843252f3d01645f9bbd0676f1b96fe72f36e7ceb6515b8ec2a0d9167b094716662aba6e3fa132be09949bb5f4593d0db8f12e557da91fad324110f506f9024ccb90f3948048f4ec44e0e6340998d78bce30c8d382e8ca2b4780bb730c38accac0d0ae1285889f6a4a2080b21ed87209d370735198286efe8b7074a95cc05a962efa55f11178562dc2644748d61041c565ee28909ac83d5cf95809e85f6028f49cd1eb301418248c304bdc87d8b01023d3c5bddf9d580bbb673f9f27520007530ab9707f26a7f2eaae2351c6eb5fee7231ad431eaff7da19d51726e616d652035343700000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000005be2947c1491c0ae0000000000000000");
    }
    {
        DeviceSupportsOpReply m;
        m.supported = true;
        visit("device_supports_op_reply", m, "01000000");
    }
    {
        DeviceGetBufferTypeRequest m;
        visit("device_get_buffer_type_request", m, "");
    }
    {
        DeviceGetBufferTypeReply m;
        m.buft = 16946909640240257669ull;
        visit("device_get_buffer_type_reply", m, "85da297b87842feb");
    }
    {
        DeviceGetPropsRequest m;
        visit("device_get_props_request", m, "");
    }
    {
        DeviceGetPropsReply m;
        m.asynchronous = true;
        m.host_buffer = false;
        m.buffer_from_host_ptr = true;
        m.events = false;
        m.mmap_support = true;
        visit("device_get_props_reply", m, "0100000000000000010000000000000001000000");
    }
    {
        DeviceBufferFromPtrRequest m;
        m.resource = 1994965763u;
        m.size = 4518193006954888984ull;
        m.max_tensor_size = 15918907826278087469ull;
        visit("device_buffer_from_ptr_request", m, "03c3e876183f33f699d8b33e2dbb7d755352ebdc");
    }
    {
        DeviceBufferFromPtrReply m;
        m.buffer = 8872878571891734338ull;
        m.buft = 1826849317505381207ull;
        visit("device_buffer_from_ptr_reply", m, "4237c8f40ccc227b57b31274c6455a19");
    }
    {
        BufferTypeGetNameRequest m;
        m.buft = 13227564136828579692ull;
        visit("buffer_type_get_name_request", m, "6c2f5df37fbf91b7");
    }
    {
        BufferTypeGetNameReply m;
        m.name = "text 562";
        visit("buffer_type_get_name_reply", m, "0900000000000000746578742035363200000000");
    }
    {
        BufferTypeGetAlignmentRequest m;
        m.buft = 17582249701765425046ull;
        visit("buffer_type_get_alignment_request", m, "9627f2f1f2b200f4");
    }
    {
        BufferTypeGetAlignmentReply m;
        m.alignment = 10536220447379071915ull;
        visit("buffer_type_get_alignment_reply", m, "aba33c71ac2c3892");
    }
    {
        BufferTypeGetMaxSizeRequest m;
        m.buft = 3490191192992718784ull;
        visit("buffer_type_get_max_size_request", m, "c01f87f065a66f30");
    }
    {
        BufferTypeGetMaxSizeReply m;
        m.max_size = 14890906012315917269ull;
        visit("buffer_type_get_max_size_reply", m, "d59bd16f1f20a7ce");
    }
    {
        BufferTypeIsHostRequest m;
        m.buft = 7844876757929564138ull;
        visit("buffer_type_is_host_request", m, "ea171cefd899de6c");
    }
    {
        BufferTypeIsHostReply m;
        m.is_host = false;
        visit("buffer_type_is_host_reply", m, "00000000");
    }
    {
        BufferTypeAllocBufferRequest m;
        m.buft = 12199562322866409492ull;
        m.size = 5153533068480056361ull;
        visit("buffer_type_alloc_buffer_request", m, "1410b1ed4b8d4da9298cfb6c05078547");
    }
    {
        BufferTypeAllocBufferReply m;
        m.buffer = 16554247887803254846ull;
        visit("buffer_type_alloc_buffer_reply", m, "3e0846ecbe80bce5");
    }
    {
        BufferTypeGetAllocSizeRequest m;
        m.buft = 9508218633416901715ull;
        m.op.tensor.type = 3940221032u;
        m.op.tensor.buffer = 1u;
        m.op.tensor.ne[0] = 6816874943967393938ull;
        m.op.tensor.ne[1] = -229154310418959193ll;
        m.op.tensor.ne[2] = -7275183564805312324ll;
        m.op.tensor.ne[3] = 4125531254517886161ull;
        m.op.tensor.nb[0] = 15526246073841084646ull;
        m.op.tensor.nb[1] = 8480216819454731515ull;
        m.op.tensor.nb[2] = 1434187565068378384ull;
        m.op.tensor.nb[3] = 12834902384391576869ull;
        m.op.tensor.op = 3821263162u;
        m.op.tensor.op_params[0] = 1661883727u;
        m.op.tensor.op_params[1] = -497495708;
        m.op.tensor.op_params[2] = 1638092153u;
        m.op.tensor.op_params[3] = -521287282;
        m.op.tensor.op_params[4] = 1614300579u;
        m.op.tensor.op_params[5] = -545078856;
        m.op.tensor.op_params[6] = 1590509005u;
        m.op.tensor.op_params[7] = -568870430;
        m.op.tensor.op_params[8] = 1566717431u;
        m.op.tensor.op_params[9] = -592662004;
        m.op.tensor.op_params[10] = 1542925857u;
        m.op.tensor.op_params[11] = -616453578;
        m.op.tensor.op_params[12] = 1519134283u;
        m.op.tensor.op_params[13] = -640245152;
        m.op.tensor.op_params[14] = 1495342709u;
        m.op.tensor.op_params[15] = -664036726;
        m.op.tensor.flags = 1471551135u;
        m.op.tensor.src[0] = 3u;
        m.op.tensor.src[1] = 4u;
        m.op.tensor.src[2] = 0u;
        m.op.tensor.src[3] = 0u;
        m.op.tensor.src[4] = 0u;
        m.op.tensor.src[5] = 0u;
        m.op.tensor.src[6] = 0u;
        m.op.tensor.src[7] = 0u;
        m.op.tensor.src[8] = 0u;
        m.op.tensor.src[9] = 0u;
        m.op.tensor.view_src = 2u;
        m.op.tensor.view_offs = 4368209563606050715ull;
        m.op.tensor.data = 15768924382929249200ull;
        std::strcpy(m.op.tensor.name, "name 614");
        m.op.tensor.extra = 1676865874156542938ull;
        m.op.handle = 13077580693479741423ull;
        m.op.view_src.type = 3416806404u;
        m.op.view_src.buffer = 17432266258416586777ull;
        m.op.view_src.ne[0] = -8060507069679317970ll;
        m.op.view_src.ne[1] = 3340207749643880515ull;
        m.op.view_src.ne[2] = -3705821504742472616ll;
        m.op.view_src.ne[3] = 7694893314580725869ull;
        m.op.view_src.nb[0] = 648864060194372738ull;
        m.op.view_src.nb[1] = 12049578879517571223ull;
        m.op.view_src.nb[2] = 5003549625131218092ull;
        m.op.view_src.nb[3] = 16404264444454416577ull;
        m.op.view_src.op = 3297848534u;
        m.op.view_src.op_params[0] = 1138469099u;
        m.op.view_src.op_params[1] = -1020910336;
        m.op.view_src.op_params[2] = 1114677525u;
        m.op.view_src.op_params[3] = -1044701910;
        m.op.view_src.op_params[4] = 1090885951u;
        m.op.view_src.op_params[5] = -1068493484;
        m.op.view_src.op_params[6] = 1067094377u;
        m.op.view_src.op_params[7] = -1092285058;
        m.op.view_src.op_params[8] = 1043302803u;
        m.op.view_src.op_params[9] = -1116076632;
        m.op.view_src.op_params[10] = 1019511229u;
        m.op.view_src.op_params[11] = -1139868206;
        m.op.view_src.op_params[12] = 995719655u;
        m.op.view_src.op_params[13] = -1163659780;
        m.op.view_src.op_params[14] = 971928081u;
        m.op.view_src.op_params[15] = -1187451354;
        m.op.view_src.flags = 948136507u;
        m.op.view_src.src[0] = 11656917127080568400ull;
        m.op.view_src.src[1] = 4610887872694215269ull;
        m.op.view_src.src[2] = 16011602692017413754ull;
        m.op.view_src.src[3] = 8965573437631060623ull;
        m.op.view_src.src[4] = 1919544183244707492ull;
        m.op.view_src.src[5] = 13320259002567905977ull;
        m.op.view_src.src[6] = 6274229748181552846ull;
        m.op.view_src.src[7] = 17674944567504751331ull;
        m.op.view_src.src[8] = 10628915313118398200ull;
        m.op.view_src.src[9] = 3582886058732045069ull;
        m.op.view_src.view_src = 14983600878055243554ull;
        m.op.view_src.view_offs = 7937571623668890423ull;
        m.op.view_src.data = 891542369282537292ull;
        std::strcpy(m.op.view_src.name, "name 658");
        m.op.view_src.extra = 5246227934219382646ull;
        m.op.src[0].type = 757803915u;
        m.op.src[0].buffer = 9600913499156228000ull;
        m.op.src[0].ne[0] = 2554884244769874869ull;
        m.op.src[0].ne[1] = -4491145009616478262ll;
        m.op.src[0].ne[2] = 6909569809706720223ull;
        m.op.src[0].ne[3] = -136459444679632908ll;
        m.op.src[0].nb[0] = 11264255374643565577ull;
        m.op.src[0].nb[1] = 4218226120257212446ull;
        m.op.src[0].nb[2] = 15618940939580410931ull;
        m.op.src[0].nb[3] = 8572911685194057800ull;
        m.op.src[0].op = 638846045u;
        m.op.src[0].op_params[0] = -1520533390;
        m.op.src[0].op_params[1] = 615054471u;
        m.op.src[0].op_params[2] = -1544324964;
        m.op.src[0].op_params[3] = 591262897u;
        m.op.src[0].op_params[4] = -1568116538;
        m.op.src[0].op_params[5] = 567471323u;
        m.op.src[0].op_params[6] = -1591908112;
        m.op.src[0].op_params[7] = 543679749u;
        m.op.src[0].op_params[8] = -1615699686;
        m.op.src[0].op_params[9] = 519888175u;
        m.op.src[0].op_params[10] = -1639491260;
        m.op.src[0].op_params[11] = 496096601u;
        m.op.src[0].op_params[12] = -1663282834;
        m.op.src[0].op_params[13] = 472305027u;
        m.op.src[0].op_params[14] = -1687074408;
        m.op.src[0].op_params[15] = 448513453u;
        m.op.src[0].flags = -1710865982;
        m.op.src[0].src[0] = 3825564367820209623ull;
        m.op.src[0].src[1] = 15226279187143408108ull;
        m.op.src[0].src[2] = 8180249932757054977ull;
        m.op.src[0].src[3] = 1134220678370701846ull;
        m.op.src[0].src[4] = 12534935497693900331ull;
        m.op.src[0].src[5] = 5488906243307547200ull;
        m.op.src[0].src[6] = 16889621062630745685ull;
        m.op.src[0].src[7] = 9843591808244392554ull;
        m.op.src[0].src[8] = 2797562553858039423ull;
        m.op.src[0].src[9] = 14198277373181237908ull;
        m.op.src[0].view_src = 7152248118794884777ull;
        m.op.src[0].view_offs = 106218864408531646ull;
        m.op.src[0].data = 11506933683731730131ull;
        std::strcpy(m.op.src[0].name, "name 701");
        m.op.src[0].extra = 15861619248668575485ull;
        m.op.src[1].type = 2393768722u;
        m.op.src[1].buffer = 1769560739895869223ull;
        m.op.src[1].ne[0] = -5276468514490483908ll;
        m.op.src[1].ne[1] = 6124246304832714577ull;
        m.op.src[1].ne[2] = -921782949553638554ll;
        m.op.src[1].ne[3] = -7967812203939991685ll;
        m.op.src[1].nb[0] = 3432902615383206800ull;
        m.op.src[1].nb[1] = 14833617434706405285ull;
        m.op.src[1].nb[2] = 7787588180320052154ull;
        m.op.src[1].nb[3] = 741558925933699023ull;
        m.op.src[1].op = 2274810852u;
        m.op.src[1].op_params[0] = 115431417u;
        m.op.src[1].op_params[1] = -2043948018;
        m.op.src[1].op_params[2] = 91639843u;
        m.op.src[1].op_params[3] = -2067739592;
        m.op.src[1].op_params[4] = 67848269u;
        m.op.src[1].op_params[5] = -2091531166;
        m.op.src[1].op_params[6] = 44056695u;
        m.op.src[1].op_params[7] = -2115322740;
        m.op.src[1].op_params[8] = 20265121u;
        m.op.src[1].op_params[9] = -2139114314;
        m.op.src[1].op_params[10] = -3526453;
        m.op.src[1].op_params[11] = 2132061408u;
        m.op.src[1].op_params[12] = -27318027;
        m.op.src[1].op_params[13] = 2108269834u;
        m.op.src[1].op_params[14] = -51109601;
        m.op.src[1].op_params[15] = 2084478260u;
        m.op.src[1].flags = -74901175;
        m.op.src[1].src[0] = 14440955682269402462ull;
        m.op.src[1].src[1] = 7394926427883049331ull;
        m.op.src[1].src[2] = 348897173496696200ull;
        m.op.src[1].src[3] = 11749611992819894685ull;
        m.op.src[1].src[4] = 4703582738433541554ull;
        m.op.src[1].src[5] = 16104297557756740039ull;
        m.op.src[1].src[6] = 9058268303370386908ull;
        m.op.src[1].src[7] = 2012239048984033777ull;
        m.op.src[1].src[8] = 13412953868307232262ull;
        m.op.src[1].src[9] = 6366924613920879131ull;
        m.op.src[1].view_src = 17767639433244077616ull;
        m.op.src[1].view_offs = 10721610178857724485ull;
        m.op.src[1].data = 3675580924471371354ull;
        std::strcpy(m.op.src[1].name, "name 744");
        m.op.src[1].extra = 8030266489408216708ull;
        visit("buffer_type_get_alloc_size_request", m, "5384906b78faf3836800dbea00000000010000000000000092f86fe9a4679a5ea774ba685ee1d1fcbcf004e8175b099bd16c4f67d1d44039e6e899e68a4e78d7fb64e46544c8af7510e12ee5fd41e713255d7964b7bb1eb23ad9c3e34f550e6364d158e2794da3618ec9ede0a3453860b8c182dfcd3dcd5ee2b917def735625d0cb2acdc212ef75b36aa41db4b268c5a60a2d6d9751e21598a9a6bd89f16b657030000000000000004000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000002000000000000009be7334f74ff9e3cb0637ece2d79d6da6e616d65203631340000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000da5b13cda06c45170000000000000000efd75d4c5ae67cb50454a8cb0000000019d0f24acdd9ebf12e4c3dca8653239043c8874940cd5a2e5844d2c8f94692cc6dc01c48b3c0c96a823c67c76c3a010997b8b14626b438a7ac34fcc5df2d7045c1b0464599a7a7e3d62c91c4eba8db43002526c315a170422a1dbbc13f990541541550c069919a3f7e0de5be93892f3ea8057abdbd81c43cd2fd0ebce779593bfcf5a3ba1172ee3926ee38b93b6a833850e6cdb75db0c5a165621837172afd3f7ade62b6d0a334de8f5aad358a1d6c7ca4d6f7b44397a31ab9524234fd10dbb8cece8cb3b68a1257e34ad73270044af5f8c621b2297e81930d436c31e3f7b83122bfb6b09c71f0cf373b013056eb276e4cb74baf0f655f0c6e616d6520363538000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000076afe0ad8258ce4800000000000000008b2b2b2d00000000a0a775acf54b3d85b523c02bafc57423ca9f0aab683facc1df1b552a22b9e35ff4979fa9db321bfe0914ea2895ac529c1e9034a84e268a3a330c7f2708a0c1d84888c9a6c119f9765d04142672805ea587fca8249c78f3a3b1f43d23c67088a2dbecd221f0681da105e567201a61b29f2fddfc1e4459479e59d5911d6e51dc9c83cd261c9849719badc5bb1ac241069ad7bd501986221735ec399b983f9c4ed301b6e517f915867116323097b28fbd0f2bae7a166c09f5ad402ac59525832c4c55a60f15dffc63ea6a225a9498769b887f9ea41352f0d226941aef920b6a0ac5a9963912c5e34163be1284917e5d7901d38ece1038d7b09f6e616d65203730310000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000fd86630fabca1fdc00000000000000001203ae8e00000000277ff80d1ebe8e183cfb428dd737c6b651778d0c91b1fd5466f3d78b4a2b35f37b6f220b04a56c9190eb6c8abd1ea42fa567b7097798dbcdbae301893012136ccf5f4c08ea8b4a0ae4db9687f957e1060ed42b862350760538ccc0844d480b0462c455837740a0028cbcea81a1383501b6b47f80cb30caffe0ac147ff5285ffe0aa5a97d1f21f4fc349d3e7c491989fb5e95d37aae9468c873111efa670ea066888d68792188d7049d09b3f8da010fa3b285fd77947b4641c70148f74df57ddfdc7d9276076fb57df1f9dcf5c0e8ec1b067627757a6224ba1bf271f433dc5b58306ebc73ed5593f645ea06f3a6cfca945a665172604902336e616d65203734340000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000845ee670d33c716f0000000000000000");
    }
    {
        BufferTypeGetAllocSizeReply m;
        m.size = 984237235021863577ull;
        visit("buffer_type_get_alloc_size_reply", m, "99da30f08cb6a80d");
    }
    {
        BufferGetBaseRequest m;
        m.buffer = 12384952054345062062ull;
        visit("buffer_get_base_request", m, "ae567b6f4630e0ab");
    }
    {
        BufferGetBaseReply m;
        m.base = 5338922799958708931ull;
        visit("buffer_get_base_reply", m, "c3d2c5eeffa9174a");
    }
    {
        BufferSetTensorRequest m;
        m.buffer = 16739637619281907416ull;
        m.tensor.id = 9693608364895554285ull;
        m.tensor.type = 1822770946u;
        m.tensor.buffer = 14048293929832399639ull;
        m.tensor.ne[0] = 1798979372u;
        m.tensor.ne[1] = 3934567233u;
        m.tensor.ne[2] = 1775187798u;
        m.tensor.ne[3] = 3910775659u;
        m.tensor.nb[0] = 1751396224u;
        m.tensor.nb[1] = 3886984085u;
        m.tensor.nb[2] = 1727604650u;
        m.tensor.nb[3] = 3863192511u;
        m.tensor.op = 1703813076u;
        m.tensor.op_params[0] = -455566359;
        m.tensor.op_params[1] = 1680021502u;
        m.tensor.op_params[2] = -479357933;
        m.tensor.op_params[3] = 1656229928u;
        m.tensor.op_params[4] = -503149507;
        m.tensor.op_params[5] = 1632438354u;
        m.tensor.op_params[6] = -526941081;
        m.tensor.op_params[7] = 1608646780u;
        m.tensor.op_params[8] = -550732655;
        m.tensor.op_params[9] = 1584855206u;
        m.tensor.op_params[10] = -574524229;
        m.tensor.op_params[11] = 1561063632u;
        m.tensor.op_params[12] = -598315803;
        m.tensor.op_params[13] = 1537272058u;
        m.tensor.op_params[14] = -622107377;
        m.tensor.op_params[15] = 1513480484u;
        m.tensor.flags = -645898951;
        m.tensor.src[0] = 8272944798496381262ull;
        m.tensor.src[1] = 1226915544110028131ull;
        m.tensor.src[2] = 12627630363433226616ull;
        m.tensor.src[3] = 5581601109046873485ull;
        m.tensor.src[4] = 16982315928370071970ull;
        m.tensor.src[5] = 9936286673983718839ull;
        m.tensor.src[6] = 2890257419597365708ull;
        m.tensor.src[7] = 14290972238920564193ull;
        m.tensor.src[8] = 7244942984534211062ull;
        m.tensor.src[9] = 198913730147857931ull;
        m.tensor.view_src = 11599628549471056416ull;
        m.tensor.view_offs = 4553599295084703285ull;
        m.tensor.data = 15954314114407901770ull;
        std::strcpy(m.tensor.name, "name 792");
        m.resource = 1323147892u;
        m.offset = 13262970424958393993ull;
        m.size = 6216941170572040862ull;
        visit("buffer_set_tensor_request", m, "d84e106eb9234fe8edca5aed729d86860247a56c0000000017c3efebe590f5c22c3f3a6b41bb84ea5637cf696bb319e9802f646895abaee7aa27f966bfa343e6d41f8e65e99bd8e4fe17236413946de32810b8623d8c02e252084d61678497e07c00e25f917c2cdfa6f8765ebb74c1ddd0f00b5de56c56dcfae8a05b0f65ebda24e1355a395d80d94ed9ca587667cf72635515d82fe1061178d15f57e95a3eaf8d4daad6a2d4754da2c9f4555c4eadebb7453fd515c8e489ccc18954cf411c28e13dd4d388bb53c6f6b91e5342358b640b3669d2fbaec20220b2b351b528faa0352efed06ea2313f4aaa4850281c69dd6e616d65203739320000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000074a2dd4e891e28ce54890fb89e9a724d0e034756");
    }
    {
        BufferSetTensorReply m;
        visit("buffer_set_tensor_reply", m, "");
    }
    {
        BufferGetTensorRequest m;
        m.buffer = 17617655989895239347ull;
        m.tensor.id = 10571626735508886216ull;
        m.tensor.type = 3411152605u;
        m.tensor.buffer = 14926312300445731570ull;
        m.tensor.ne[0] = 3387361031u;
        m.tensor.ne[1] = 1227981596u;
        m.tensor.ne[2] = 3363569457u;
        m.tensor.ne[3] = 1204190022u;
        m.tensor.nb[0] = 3339777883u;
        m.tensor.nb[1] = 1180398448u;
        m.tensor.nb[2] = 3315986309u;
        m.tensor.nb[3] = 1156606874u;
        m.tensor.op = 3292194735u;
        m.tensor.op_params[0] = 1132815300u;
        m.tensor.op_params[1] = -1026564135;
        m.tensor.op_params[2] = 1109023726u;
        m.tensor.op_params[3] = -1050355709;
        m.tensor.op_params[4] = 1085232152u;
        m.tensor.op_params[5] = -1074147283;
        m.tensor.op_params[6] = 1061440578u;
        m.tensor.op_params[7] = -1097938857;
        m.tensor.op_params[8] = 1037649004u;
        m.tensor.op_params[9] = -1121730431;
        m.tensor.op_params[10] = 1013857430u;
        m.tensor.op_params[11] = -1145522005;
        m.tensor.op_params[12] = 990065856u;
        m.tensor.op_params[13] = -1169313579;
        m.tensor.op_params[14] = 966274282u;
        m.tensor.op_params[15] = -1193105153;
        m.tensor.flags = 942482708u;
        m.tensor.src[0] = 9150963169109713193ull;
        m.tensor.src[1] = 2104933914723360062ull;
        m.tensor.src[2] = 13505648734046558547ull;
        m.tensor.src[3] = 6459619479660205416ull;
        m.tensor.src[4] = 17860334298983403901ull;
        m.tensor.src[5] = 10814305044597050770ull;
        m.tensor.src[6] = 3768275790210697639ull;
        m.tensor.src[7] = 15168990609533896124ull;
        m.tensor.src[8] = 8122961355147542993ull;
        m.tensor.src[9] = 1076932100761189862ull;
        m.tensor.view_src = 12477646920084388347ull;
        m.tensor.view_offs = 5431617665698035216ull;
        m.tensor.data = 16832332485021233701ull;
        std::strcpy(m.tensor.name, "name 839");
        m.resource = 2911529551u;
        m.offset = 14140988795571725924ull;
        m.size = 7094959541185372793ull;
        visit("buffer_get_tensor_request", m, "b316bdccc77c7ef4c892074c81f6b592dd0e52cb00000000f28a9c4af4e924cf0707e7c91c83314931ff7bc8467bc6475bf710c770735b4685efa5c59a6bf044afe73ac4c4638543d9dfcfc2ee5b1a4203d864c11854af402dd0f9bf424c443f57c88ebe6c44d93d81c023bd963c6e3cabb8b8bbc034033bd5b04dbaea2c9839ffa8e2b814252d3829a177b784c0fe7e3e1dc2363e3a361d53990cb6f7b36dbb68155735b12da5597d91a1b46aa7dcf7920dec3324211496a78936b3dd9a4b34bc058132971483d2d181cbb1508eba70e6fd15310a08f20efb7960b0c38129ad10f6aa2f7dfb604b2572f5ae367598e96e616d6520383339000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000004f6a8aad64e6d42c63e23ec479621fac1c5c7662");
    }
    {
        BufferGetTensorReply m;
        visit("buffer_get_tensor_reply", m, "");
    }
    {
        BufferCpyTensorRequest m;
        m.buffer = 48930286799019662ull;
        m.source.id = 11449645106122218147ull;
        m.source.type = 704566968u;
        m.source.buffer = 15804330671059063501ull;
        m.source.ne[0] = 680775394u;
        m.source.ne[1] = 2816363255u;
        m.source.ne[2] = 656983820u;
        m.source.ne[3] = 2792571681u;
        m.source.nb[0] = 633192246u;
        m.source.nb[1] = 2768780107u;
        m.source.nb[2] = 609400672u;
        m.source.nb[3] = 2744988533u;
        m.source.op = 585609098u;
        m.source.op_params[0] = -1573770337;
        m.source.op_params[1] = 561817524u;
        m.source.op_params[2] = -1597561911;
        m.source.op_params[3] = 538025950u;
        m.source.op_params[4] = -1621353485;
        m.source.op_params[5] = 514234376u;
        m.source.op_params[6] = -1645145059;
        m.source.op_params[7] = 490442802u;
        m.source.op_params[8] = -1668936633;
        m.source.op_params[9] = 466651228u;
        m.source.op_params[10] = -1692728207;
        m.source.op_params[11] = 442859654u;
        m.source.op_params[12] = -1716519781;
        m.source.op_params[13] = 419068080u;
        m.source.op_params[14] = -1740311355;
        m.source.op_params[15] = 395276506u;
        m.source.flags = -1764102929;
        m.source.src[0] = 10028981539723045124ull;
        m.source.src[1] = 2982952285336691993ull;
        m.source.src[2] = 14383667104659890478ull;
        m.source.src[3] = 7337637850273537347ull;
        m.source.src[4] = 291608595887184216ull;
        m.source.src[5] = 11692323415210382701ull;
        m.source.src[6] = 4646294160824029570ull;
        m.source.src[7] = 16047008980147228055ull;
        m.source.src[8] = 9000979725760874924ull;
        m.source.src[9] = 1954950471374521793ull;
        m.source.view_src = 13355665290697720278ull;
        m.source.view_offs = 6309636036311367147ull;
        m.source.data = 17710350855634565632ull;
        std::strcpy(m.source.name, "name 886");
        m.destination.id = 3618292346861859370ull;
        m.destination.type = 2340531775u;
        m.destination.buffer = 7972977911798704724ull;
        m.destination.ne[0] = 2316740201u;
        m.destination.ne[1] = 157360766u;
        m.destination.ne[2] = 2292948627u;
        m.destination.ne[3] = 133569192u;
        m.destination.nb[0] = 2269157053u;
        m.destination.nb[1] = 109777618u;
        m.destination.nb[2] = 2245365479u;
        m.destination.nb[3] = 85986044u;
        m.destination.op = 2221573905u;
        m.destination.op_params[0] = 62194470u;
        m.destination.op_params[1] = -2097184965;
        m.destination.op_params[2] = 38402896u;
        m.destination.op_params[3] = -2120976539;
        m.destination.op_params[4] = 14611322u;
        m.destination.op_params[5] = -2144768113;
        m.destination.op_params[6] = -9180252;
        m.destination.op_params[7] = 2126407609u;
        m.destination.op_params[8] = -32971826;
        m.destination.op_params[9] = 2102616035u;
        m.destination.op_params[10] = -56763400;
        m.destination.op_params[11] = 2078824461u;
        m.destination.op_params[12] = -80554974;
        m.destination.op_params[13] = 2055032887u;
        m.destination.op_params[14] = -104346548;
        m.destination.op_params[15] = 2031241313u;
        m.destination.flags = -128138122;
        m.destination.src[0] = 2197628780462686347ull;
        m.destination.src[1] = 13598343599785884832ull;
        m.destination.src[2] = 6552314345399531701ull;
        m.destination.src[3] = 17953029164722730186ull;
        m.destination.src[4] = 10906999910336377055ull;
        m.destination.src[5] = 3860970655950023924ull;
        m.destination.src[6] = 15261685475273222409ull;
        m.destination.src[7] = 8215656220886869278ull;
        m.destination.src[8] = 1169626966500516147ull;
        m.destination.src[9] = 12570341785823714632ull;
        m.destination.view_src = 5524312531437361501ull;
        m.destination.view_offs = 16925027350760559986ull;
        m.destination.data = 9878998096374206855ull;
        std::strcpy(m.destination.name, "name 929");
        visit("buffer_cpy_tensor_request", m, "8ede692bd6d5ad00a35ab4aa8f4fe59eb8d6fe2900000000cd5249a9024354dbe2ce9328f74adea70cc72827214373a636bfbd254b3b08a560b7522475339da38aafe7229f2b32a2b4a77c21c923c7a0de9f1120f31b5c9f0898a61e1d14f19d32903b1d470c869c5c88d01b71041b9b8680651a9bfcaf99b078fa18c5f44498da708f17efecd9960469241693192e8b19e56e954c9365292e61b914060d9dc743dd0394bf86d46558594e1379000c046dd59892327a43a28251e311ecf37a4097cd2d91a56db2deac4978105fe7e97cc1c5c28f1861211bd6410d0fd2da58b9ebbd578e8b549057003aa20d45cec7f56e616d6520383836000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000002a32370cb8c136323fae818b00000000542acc0a2bb5a56e69a6168a7e226109939eab88a81af607bd964087d2128b06e78ed585fc0a200511876a842603b5033b7fff8250fb4902657794817af3de008f6f2980a4eb73ffb967be7ecee308fee35f537df8db9dfc0d58e87b22d432fb37507d7a4cccc7f96148127976c45cf88b40a777bb8b7f1ea0bcf1f67405b7bcb5383c762e7fee5acab486f5e7f825f9df30d174a1725d97f4ac1bf45aec9435092966731466ccd31ea5b0f2cddf03723321fb7187593b10489d45f140d372ae5d199070fa4caa4c7295daefb3c6e1ea8711256f6d4019896e616d652039323900000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000");
    }
    {
        BufferCpyTensorReply m;
        m.copied = false;
        visit("buffer_cpy_tensor_reply", m, "00000000");
    }
    {
        BufferClearRequest m;
        m.buffer = 7187654406924699078ull;
        m.value = 219u;
        visit("buffer_clear_request", m, "c68504ed99adbf63db000000");
    }
    {
        BufferClearReply m;
        visit("buffer_clear_reply", m, "");
    }
    {
        BufferFreeBufferRequest m;
        m.buffer = 11542339971861544432ull;
        visit("buffer_free_buffer_request", m, "f07d99eb0ca12ea0");
    }
    {
        BufferFreeBufferReply m;
        visit("buffer_free_buffer_reply", m, "");
    }
    {
        BackendGraphComputeRequest m;
        m.resource = 1793325573u;
        m.size = 15897025536798389786ull;
        visit("backend_graph_compute_request", m, "05fae36a1a762eea7f949ddc");
    }
    {
        BackendGraphComputeReply m;
        m.status = 1769533999u;
        visit("backend_graph_compute_reply", m, "2ff27869");
    }
    {
        NegotiateRequest m;
        m.version = 3905121860u;
        m.offered = 13205681847348882009ull;
        m.session = 6159652592962528878ull;
        visit("negotiate_request", m, "446ec3e859ea0d68ac0144b76e6658e7657b7b55");
    }
    {
        NegotiateReply m;
        m.accepted = 17560367412285727363ull;
        visit("negotiate_reply", m, "83e2a2661ff5b2f3");
    }
    {
        OnDeviceRequest m;
        m.device = 3857538712u;
        m.call = 1698159277u;
        visit("on_device_request", m, "985eede5adda3765");
    }
    {
        OnDeviceReply m;
        visit("on_device_reply", m, "");
    }
    {
        WideSupportsOpRequest m;
        m.tensors.resize(2);
        m.tensors[0].id = 14869023722836219586ull;
        m.tensors[0].type = 1674367703u;
        m.tensors[0].op = 3809955564u;
        m.tensors[0].buffer = 12177680033386711809ull;
        m.tensors[0].ne[0] = 5131650779000358678ull;
        m.tensors[0].ne[1] = -1914378475385994453ll;
        m.tensors[0].ne[2] = -8960407729772347584ll;
        m.tensors[0].ne[3] = 2440307089550850901ull;
        m.tensors[0].nb[0] = 13841021908874049386ull;
        m.tensors[0].nb[1] = 6794992654487696255ull;
        m.tensors[0].nb[2] = 18195707473810894740ull;
        m.tensors[0].nb[3] = 11149678219424541609ull;
        m.tensors[0].op_params[0] = -603969602;
        m.tensors[0].op_params[1] = 1531618259u;
        m.tensors[0].op_params[2] = -627761176;
        m.tensors[0].op_params[3] = 1507826685u;
        m.tensors[0].op_params[4] = -651552750;
        m.tensors[0].op_params[5] = 1484035111u;
        m.tensors[0].op_params[6] = -675344324;
        m.tensors[0].op_params[7] = 1460243537u;
        m.tensors[0].op_params[8] = -699135898;
        m.tensors[0].op_params[9] = 1436451963u;
        m.tensors[0].op_params[10] = -722927472;
        m.tensors[0].op_params[11] = 1412660389u;
        m.tensors[0].op_params[12] = -746719046;
        m.tensors[0].op_params[13] = 1388868815u;
        m.tensors[0].op_params[14] = -770510620;
        m.tensors[0].op_params[15] = 1365077241u;
        m.tensors[0].flags = -794302194;
        m.tensors[0].src[0] = 13448360156437046563ull;
        m.tensors[0].src[1] = 6402330902050693432ull;
        m.tensors[0].src[2] = 17803045721373891917ull;
        m.tensors[0].src[3] = 10757016466987538786ull;
        m.tensors[0].src[4] = 3710987212601185655ull;
        m.tensors[0].src[5] = 15111702031924384140ull;
        m.tensors[0].src[6] = 8065672777538031009ull;
        m.tensors[0].src[7] = 1019643523151677878ull;
        m.tensors[0].src[8] = 12420358342474876363ull;
        m.tensors[0].src[9] = 5374329088088523232ull;
        m.tensors[0].view_src = 16775043907411721717ull;
        m.tensors[0].view_offs = 9729014653025368586ull;
        m.tensors[0].data = 2682985398639015455ull;
        std::strcpy(m.tensors[0].name, "name 985");
        m.tensors[1].id = 7037670963575860809ull;
        m.tensors[1].type = 3310332510u;
        m.tensors[1].op = 1150953075u;
        m.tensors[1].buffer = 4346327274126353032ull;
        m.tensors[1].ne[0] = -2699701980260000099ll;
        m.tensors[1].ne[1] = 8701012839063198386ull;
        m.tensors[1].ne[2] = 1654983584676845255ull;
        m.tensors[1].ne[3] = -5391045669709507876ll;
        m.tensors[1].nb[0] = 6009669149613690609ull;
        m.tensors[1].nb[1] = 17410383968936889094ull;
        m.tensors[1].nb[2] = 10364354714550535963ull;
        m.tensors[1].nb[3] = 3318325460164182832ull;
        m.tensors[1].op_params[0] = 1031995205u;
        m.tensors[1].op_params[1] = -1127384230;
        m.tensors[1].op_params[2] = 1008203631u;
        m.tensors[1].op_params[3] = -1151175804;
        m.tensors[1].op_params[4] = 984412057u;
        m.tensors[1].op_params[5] = -1174967378;
        m.tensors[1].op_params[6] = 960620483u;
        m.tensors[1].op_params[7] = -1198758952;
        m.tensors[1].op_params[8] = 936828909u;
        m.tensors[1].op_params[9] = -1222550526;
        m.tensors[1].op_params[10] = 913037335u;
        m.tensors[1].op_params[11] = -1246342100;
        m.tensors[1].op_params[12] = 889245761u;
        m.tensors[1].op_params[13] = -1270133674;
        m.tensors[1].op_params[14] = 865454187u;
        m.tensors[1].op_params[15] = -1293925248;
        m.tensors[1].flags = 841662613u;
        m.tensors[1].src[0] = 5617007397176687786ull;
        m.tensors[1].src[1] = 17017722216499886271ull;
        m.tensors[1].src[2] = 9971692962113533140ull;
        m.tensors[1].src[3] = 2925663707727180009ull;
        m.tensors[1].src[4] = 14326378527050378494ull;
        m.tensors[1].src[5] = 7280349272664025363ull;
        m.tensors[1].src[6] = 234320018277672232ull;
        m.tensors[1].src[7] = 11635034837600870717ull;
        m.tensors[1].src[8] = 4589005583214517586ull;
        m.tensors[1].src[9] = 15989720402537716071ull;
        m.tensors[1].view_src = 8943691148151362940ull;
        m.tensors[1].view_offs = 1897661893765009809ull;
        m.tensors[1].data = 13298376713088208294ull;
        std::strcpy(m.tensors[1].name, "name 1028");
        visit("wide_supports_op_request", m, "02000000c25682e44b6259ced7d2cc63ec4e17e301cb616278cfffa81647ace1314937472bc3f660ebc26ee5403f41e0a43ca68355bb8b5f5eb6dd216a37d6de173015c07fb3205ed1a94c5e942f6bdd8a2384fca9abb55c449dbb9abe2700dcd3a34a5be81f95dafd9bdf5912182ad9279474583c10bfd7518c0957660854d67b849e559000e9d4a57c3354baf87dd3cf74c852e4f012d2f96c5d510ee9a7d0000000002365f24f4f2ca2ba38e13ccf08a6d9584d5d874ec21f11f762d9d1cd7b99489577551c4d351380338cd166ccee8cb7d1a14db14ba806ef6fb6c9fbca6180260ecb45464a1bfa5dace0c190c9d473954af53ddb488eedcce80aba25c8476704871f36704701e13b256e616d65203938350000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000492e054674d4aa615eaa4fc573269a4488a2e4c3a041513c9d1e2f435abb88dab29a79c21335c078c716c441cdaef716dc920ec186282fb5f10e594040a26653068ba3bff91b9ef11b07ee3eb395d58f308338be6c0f0d2e45ff823d5a7bcdbc6ff7173c847362bb99efac3aae6bf7b9c3e74139d8638cb8eddfd637025c21b717d86b362c54b6b541d00035564c4bb46bc895338044e0b295c02a3200000000aa3c75b1779ef34dbfb8bf3031182becd4340ab0ea91628ae9b0542fa40b9a28fe2c9fae5d85d1c613a9e92d17ff0865282534add07840033da17e2c8af277a1521dc9ab436caf3f6799132bfde5e6dd7c155eaab65f1e7c9191a82970d9551aa60df3a829538db86e616d65203130323800000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000");
    }
    {
        WideSupportsOpReply m;
        m.supported = true;
        visit("wide_supports_op_reply", m, "01000000");
    }
    {
        WideGetAllocSizeRequest m;
        m.buft = 10607033023638700517ull;
        m.tensors.resize(2);
        m.tensors[0].id = 3561003769252347386ull;
        m.tensors[0].type = 627538447u;
        m.tensors[0].op = 2763126308u;
        m.tensors[0].buffer = 869660079802839609ull;
        m.tensors[0].ne[0] = -6176369174583513522ll;
        m.tensors[0].ne[1] = 5224345644739684963ull;
        m.tensors[0].ne[2] = -1821683609646668168ll;
        m.tensors[0].ne[3] = -8867712864033021299ll;
        m.tensors[0].nb[0] = 2533001955290177186ull;
        m.tensors[0].nb[1] = 13933716774613375671ull;
        m.tensors[0].nb[2] = 6887687520227022540ull;
        m.tensors[0].nb[3] = 18288402339550221025ull;
        m.tensors[0].op_params[0] = -1650798858;
        m.tensors[0].op_params[1] = 484789003u;
        m.tensors[0].op_params[2] = -1674590432;
        m.tensors[0].op_params[3] = 460997429u;
        m.tensors[0].op_params[4] = -1698382006;
        m.tensors[0].op_params[5] = 437205855u;
        m.tensors[0].op_params[6] = -1722173580;
        m.tensors[0].op_params[7] = 413414281u;
        m.tensors[0].op_params[8] = -1745965154;
        m.tensors[0].op_params[9] = 389622707u;
        m.tensors[0].op_params[10] = -1769756728;
        m.tensors[0].op_params[11] = 365831133u;
        m.tensors[0].op_params[12] = -1793548302;
        m.tensors[0].op_params[13] = 342039559u;
        m.tensors[0].op_params[14] = -1817339876;
        m.tensors[0].op_params[15] = 318247985u;
        m.tensors[0].flags = -1841131450;
        m.tensors[0].src[0] = 2140340202853174363ull;
        m.tensors[0].src[1] = 13541055022176372848ull;
        m.tensors[0].src[2] = 6495025767790019717ull;
        m.tensors[0].src[3] = 17895740587113218202ull;
        m.tensors[0].src[4] = 10849711332726865071ull;
        m.tensors[0].src[5] = 3803682078340511940ull;
        m.tensors[0].src[6] = 15204396897663710425ull;
        m.tensors[0].src[7] = 8158367643277357294ull;
        m.tensors[0].src[8] = 1112338388891004163ull;
        m.tensors[0].src[9] = 12513053208214202648ull;
        m.tensors[0].view_src = 5467023953827849517ull;
        m.tensors[0].view_offs = 16867738773151048002ull;
        m.tensors[0].data = 9821709518764694871ull;
        std::strcpy(m.tensors[0].name, "name 1073");
        m.tensors[1].id = 14176395083701540225ull;
        m.tensors[1].type = 2263503254u;
        m.tensors[1].op = 104123819u;
        m.tensors[1].buffer = 11485051394252032448ull;
        m.tensors[1].ne[0] = 4439022139865679317ull;
        m.tensors[1].ne[1] = -2607007114520673814ll;
        m.tensors[1].ne[2] = 8793707704802524671ull;
        m.tensors[1].ne[3] = 1747678450416171540ull;
        m.tensors[1].nb[0] = 13148393269739370025ull;
        m.tensors[1].nb[1] = 6102364015353016894ull;
        m.tensors[1].nb[2] = 17503078834676215379ull;
        m.tensors[1].nb[3] = 10457049580289862248ull;
        m.tensors[1].op_params[0] = -14834051;
        m.tensors[1].op_params[1] = 2120753810u;
        m.tensors[1].op_params[2] = -38625625;
        m.tensors[1].op_params[3] = 2096962236u;
        m.tensors[1].op_params[4] = -62417199;
        m.tensors[1].op_params[5] = 2073170662u;
        m.tensors[1].op_params[6] = -86208773;
        m.tensors[1].op_params[7] = 2049379088u;
        m.tensors[1].op_params[8] = -110000347;
        m.tensors[1].op_params[9] = 2025587514u;
        m.tensors[1].op_params[10] = -133791921;
        m.tensors[1].op_params[11] = 2001795940u;
        m.tensors[1].op_params[12] = -157583495;
        m.tensors[1].op_params[13] = 1978004366u;
        m.tensors[1].op_params[14] = -181375069;
        m.tensors[1].op_params[15] = 1954212792u;
        m.tensors[1].flags = -205166643;
        m.tensors[1].src[0] = 12755731517302367202ull;
        m.tensors[1].src[1] = 5709702262916014071ull;
        m.tensors[1].src[2] = 17110417082239212556ull;
        m.tensors[1].src[3] = 10064387827852859425ull;
        m.tensors[1].src[4] = 3018358573466506294ull;
        m.tensors[1].src[5] = 14419073392789704779ull;
        m.tensors[1].src[6] = 7373044138403351648ull;
        m.tensors[1].src[7] = 327014884016998517ull;
        m.tensors[1].src[8] = 11727729703340197002ull;
        m.tensors[1].src[9] = 4681700448953843871ull;
        m.tensors[1].view_src = 16082415268277042356ull;
        m.tensors[1].view_offs = 9036386013890689225ull;
        m.tensors[1].data = 1990356759504336094ull;
        std::strcpy(m.tensors[1].name, "name 1116");
        visit("wide_get_alloc_size_request", m, "e581d22656c0339302000000fafd1ca60f3a6b310f7a672524f6b1a43972fc233ca7110c4eee46a3f52049aa636a9122af9a804878e6dba16814b8e68d622621228eef84a2de70a0db072723b75abb1f95815ec1ccd6059f4efb955fe152501e0875cdfdf6ce9a9d0b4be51c20c72f9c35437a1b4abfc49a5f3b0f1a74b759998933a4189eafee97b32b3917c8a78396dd23ce15f29f1895071c63141c98ad933114f81246904292000000005b0c8d111304b41d7088d790cc7debbb8504221086f7225a9a806c8f3f715af8affcb60ef9ea9196c478018eb264c934d9f44b0d6cde00d3ee70968c2558387103ede00bdfd16f0f18692b8b984ba7ad2de5750a52c5de4b4261c0890b3f16ea57dd0a09c5b84d886e616d6520313037330000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000081d59f0738acbcc49651ea86abcd3406c0497f856419639fd5c5c9041e939a3dea411484d70cd2dbffbd5e039186097a143aa9824a00411829b6f301047a78b63e323e81bdf3af5453ae8800776de7f2682ad37f30e71e917da61dff9222687ea79eb2fdbc1afd7cd19647fce612927bfb8edcfa100b277a258771f93a03bc784f7f06f864fb507779779bf68ef3e575a36f30f5b8eb7a74cd67c5f300000000e2e30f733b7605b1f75f5af2f4ef3c4f0cdca471ae6974ed2158eff067e3ab8b36d43970215de3294b5084efdad61ac860ccce6e94505266754819ee4dca89048ac4636d0744c1a29f40aeecc0bdf840b4bcf86b7a3730dfc93843eb33b1677ddeb48d6aed2a9f1b6e616d65203131313600000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000");
    }
    {
        WideGetAllocSizeReply m;
        m.size = 6345042324441181448ull;
        visit("wide_get_alloc_size_reply", m, "08ad2269601e0e58");
    }
    {
        WideSetTensorRequest m;
        m.buffer = 17745757143764379933ull;
        m.tensor.id = 10699727889378026802ull;
        m.tensor.type = 3875676487u;
        m.tensor.op = 1716297052u;
        m.tensor.buffer = 8008384199928519025ull;
        m.tensor.ne[0] = 962354945542165894ull;
        m.tensor.ne[1] = -6083674308844187237ll;
        m.tensor.ne[2] = 5317040510479011248ull;
        m.tensor.ne[3] = -1728988743907341883ll;
        m.tensor.nb[0] = 9671726075415856602ull;
        m.tensor.nb[1] = 2625696821029503471ull;
        m.tensor.nb[2] = 14026411640352701956ull;
        m.tensor.nb[3] = 6980382385966348825ull;
        m.tensor.op_params[0] = 1597339182u;
        m.tensor.op_params[1] = -562040253;
        m.tensor.op_params[2] = 1573547608u;
        m.tensor.op_params[3] = -585831827;
        m.tensor.op_params[4] = 1549756034u;
        m.tensor.op_params[5] = -609623401;
        m.tensor.op_params[6] = 1525964460u;
        m.tensor.op_params[7] = -633414975;
        m.tensor.op_params[8] = 1502172886u;
        m.tensor.op_params[9] = -657206549;
        m.tensor.op_params[10] = 1478381312u;
        m.tensor.op_params[11] = -680998123;
        m.tensor.op_params[12] = 1454589738u;
        m.tensor.op_params[13] = -704789697;
        m.tensor.op_params[14] = 1430798164u;
        m.tensor.op_params[15] = -728581271;
        m.tensor.flags = 1407006590u;
        m.tensor.src[0] = 9279064322978853779ull;
        m.tensor.src[1] = 2233035068592500648ull;
        m.tensor.src[2] = 13633749887915699133ull;
        m.tensor.src[3] = 6587720633529346002ull;
        m.tensor.src[4] = 17988435452852544487ull;
        m.tensor.src[5] = 10942406198466191356ull;
        m.tensor.src[6] = 3896376944079838225ull;
        m.tensor.src[7] = 15297091763403036710ull;
        m.tensor.src[8] = 8251062509016683579ull;
        m.tensor.src[9] = 1205033254630330448ull;
        m.tensor.view_src = 12605748073953528933ull;
        m.tensor.view_offs = 5559718819567175802ull;
        m.tensor.data = 16960433638890374287ull;
        std::strcpy(m.tensor.name, "name 1161");
        m.resource = 3376053433u;
        m.offset = 14269089949440866510ull;
        m.size = 7223060695054513379ull;
        visit("wide_set_tensor_request", m, "1d296de8199845f632a5b767d3117d94472102e75c9d4c66711997e5ff7e236f8695e164b9f85a0d9b112ce4727292abb08d76632cecc949c509c1e2e56501e8da850b629fdf3886ef0156e158597024047ea06012d3a7c219faeadfcb4cdf602e76355f43f27fde586eca5d6dea14dd82665f5c97e2a9dbac5ef45ac1da3edad6568959ebd2d3d8004f1e5815cb68d72a47b3563fc3fdd5543f485569bb92d47e37dd530000000093b327d3d6dbc580a82f72529055fd1ebdabbcd149cf34bdd227075103496c5be7a351d0bcc2a3f9fc1f9c4f763cdb97119ce6ce2fb612362618314ee92f4ad43b947bcda2a981725010c64c5c23b910658c10cc159df0ae7a085b4bcf16284d8f84a5ca88905feb6e616d65203131363100000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000b97c3ac9cef88448b5fd05c6e374cfc76e773d64");
    }
    {
        WideSetTensorReply m;
        visit("wide_set_tensor_reply", m, "");
    }
    {
        WideGetTensorRequest m;
        m.buffer = 177031440668160248ull;
        m.tensor.id = 11577746259991358733ull;
        m.tensor.type = 1169090850u;
        m.tensor.op = 3304678711u;
        m.tensor.buffer = 8886402570541850956ull;
        m.tensor.ne[0] = 1840373316155497825ull;
        m.tensor.ne[1] = -5205655938230855306ll;
        m.tensor.ne[2] = 6195058881092343179ull;
        m.tensor.ne[3] = -850970373294009952ll;
        m.tensor.nb[0] = 10549744446029188533ull;
        m.tensor.nb[1] = 3503715191642835402ull;
        m.tensor.nb[2] = 14904430010966033887ull;
        m.tensor.nb[3] = 7858400756579680756ull;
        m.tensor.op_params[0] = -1109246455;
        m.tensor.op_params[1] = 1026341406u;
        m.tensor.op_params[2] = -1133038029;
        m.tensor.op_params[3] = 1002549832u;
        m.tensor.op_params[4] = -1156829603;
        m.tensor.op_params[5] = 978758258u;
        m.tensor.op_params[6] = -1180621177;
        m.tensor.op_params[7] = 954966684u;
        m.tensor.op_params[8] = -1204412751;
        m.tensor.op_params[9] = 931175110u;
        m.tensor.op_params[10] = -1228204325;
        m.tensor.op_params[11] = 907383536u;
        m.tensor.op_params[12] = -1251995899;
        m.tensor.op_params[13] = 883591962u;
        m.tensor.op_params[14] = -1275787473;
        m.tensor.op_params[15] = 859800388u;
        m.tensor.flags = -1299579047;
        m.tensor.src[0] = 10157082693592185710ull;
        m.tensor.src[1] = 3111053439205832579ull;
        m.tensor.src[2] = 14511768258529031064ull;
        m.tensor.src[3] = 7465739004142677933ull;
        m.tensor.src[4] = 419709749756324802ull;
        m.tensor.src[5] = 11820424569079523287ull;
        m.tensor.src[6] = 4774395314693170156ull;
        m.tensor.src[7] = 16175110134016368641ull;
        m.tensor.src[8] = 9129080879630015510ull;
        m.tensor.src[9] = 2083051625243662379ull;
        m.tensor.view_src = 13483766444566860864ull;
        m.tensor.view_offs = 6437737190180507733ull;
        m.tensor.data = 17838452009503706218ull;
        std::strcpy(m.tensor.name, "name 1208");
        m.resource = 669467796u;
        m.offset = 15147108320054198441ull;
        m.size = 8101079065667845310ull;
        visit("wide_get_tensor_request", m, "f8f0194728f174020d6d64c6e16aaca022e9ae453765f9c44ce143440ed8527b615d8ec3c7518a1976d9d84281cbc1b78b5523c23a45f955a0d16d41f4be30f4b54db8c0ad386892cac9024067b29f30df454dbf202cd7cef4c1973edaa50e6d093ee2bd1eba2c3d333677bc48b2c13b5d2e0cbb72aa563a8726a1b99ca2eb38b11e36b8c69a8037db16cbb6f0921536050f60b51a8baa342f07f5b344833f3359ff89b2000000006e7bd431e534f58c83f71eb19eae2c2b98736930582864c9adefb3af11a29b67c26bfe2ecb1bd305d7e748ae84950aa4ec63932d3e0f424201e0ddacf78879e0165c282cb102b17e2bd872ab6a7ce81c4054bd2a24f61fbb55d007aadd6f57596a4c522997e98ef76e616d652031323038000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000009444e727a9c031a7c35635d2be3c7c267dd06c70");
    }
    {
        WideGetTensorReply m;
        visit("wide_get_tensor_reply", m, "");
    }
    {
        WideCpyTensorRequest m;
        m.buffer = 1055049811281492179ull;
        m.source.id = 12455764630604690664ull;
        m.source.type = 2757472509u;
        m.source.op = 598093074u;
        m.source.buffer = 9764420941155182887ull;
        m.source.ne[0] = 2718391686768829756ull;
        m.source.ne[1] = -4327637567617523375ll;
        m.source.ne[2] = 7073077251705675110ull;
        m.source.ne[3] = 27047997319321979ull;
        m.source.nb[0] = 11427762816642520464ull;
        m.source.nb[1] = 4381733562256167333ull;
        m.source.nb[2] = 15782448381579365818ull;
        m.source.nb[3] = 8736419127193012687ull;
        m.source.op_params[0] = 479135204u;
        m.source.op_params[1] = -1680244231;
        m.source.op_params[2] = 455343630u;
        m.source.op_params[3] = -1704035805;
        m.source.op_params[4] = 431552056u;
        m.source.op_params[5] = -1727827379;
        m.source.op_params[6] = 407760482u;
        m.source.op_params[7] = -1751618953;
        m.source.op_params[8] = 383968908u;
        m.source.op_params[9] = -1775410527;
        m.source.op_params[10] = 360177334u;
        m.source.op_params[11] = -1799202101;
        m.source.op_params[12] = 336385760u;
        m.source.op_params[13] = -1822993675;
        m.source.op_params[14] = 312594186u;
        m.source.op_params[15] = -1846785249;
        m.source.flags = 288802612u;
        m.source.src[0] = 11035101064205517641ull;
        m.source.src[1] = 3989071809819164510ull;
        m.source.src[2] = 15389786629142362995ull;
        m.source.src[3] = 8343757374756009864ull;
        m.source.src[4] = 1297728120369656733ull;
        m.source.src[5] = 12698442939692855218ull;
        m.source.src[6] = 5652413685306502087ull;
        m.source.src[7] = 17053128504629700572ull;
        m.source.src[8] = 10007099250243347441ull;
        m.source.src[9] = 2961069995856994310ull;
        m.source.view_src = 14361784815180192795ull;
        m.source.view_offs = 7315755560793839664ull;
        m.source.data = 269726306407486533ull;
        std::strcpy(m.source.name, "name 1255");
        m.destination.id = 4624411871344331887ull;
        m.destination.type = 98470020u;
        m.destination.op = 2234057881u;
        m.destination.buffer = 1933068181894824110ull;
        m.destination.ne[0] = -5112961072491529021ll;
        m.destination.ne[1] = 6287753746831669464ull;
        m.destination.ne[2] = -758275507554683667ll;
        m.destination.ne[3] = -7804304761941036798ll;
        m.destination.nb[0] = 3596410057382161687ull;
        m.destination.nb[1] = 14997124876705360172ull;
        m.destination.nb[2] = 7951095622319007041ull;
        m.destination.nb[3] = 905066367932653910ull;
        m.destination.op_params[0] = 2115100011u;
        m.destination.op_params[1] = -44279424;
        m.destination.op_params[2] = 2091308437u;
        m.destination.op_params[3] = -68070998;
        m.destination.op_params[4] = 2067516863u;
        m.destination.op_params[5] = -91862572;
        m.destination.op_params[6] = 2043725289u;
        m.destination.op_params[7] = -115654146;
        m.destination.op_params[8] = 2019933715u;
        m.destination.op_params[9] = -139445720;
        m.destination.op_params[10] = 1996142141u;
        m.destination.op_params[11] = -163237294;
        m.destination.op_params[12] = 1972350567u;
        m.destination.op_params[13] = -187028868;
        m.destination.op_params[14] = 1948558993u;
        m.destination.op_params[15] = -210820442;
        m.destination.flags = 1924767419u;
        m.destination.src[0] = 3203748304945158864ull;
        m.destination.src[1] = 14604463124268357349ull;
        m.destination.src[2] = 7558433869882004218ull;
        m.destination.src[3] = 512404615495651087ull;
        m.destination.src[4] = 11913119434818849572ull;
        m.destination.src[5] = 4867090180432496441ull;
        m.destination.src[6] = 16267804999755694926ull;
        m.destination.src[7] = 9221775745369341795ull;
        m.destination.src[8] = 2175746490982988664ull;
        m.destination.src[9] = 13576461310306187149ull;
        m.destination.view_src = 6530432055919834018ull;
        m.destination.view_offs = 17931146875243032503ull;
        m.destination.data = 10885117620856679372ull;
        std::strcpy(m.destination.name, "name 1298");
        visit("wide_cpy_tensor_request", m, "d3b8c6a5364aa40ee8341125f0c3dbacfdb05ba4122da62327a9f0a21c3182873c253b22d6aab92551a185a18f24f1c3661dd020499e28627b991aa0021860009015651fbc91979ea591af9e750bcf3cba0dfa1d2f8506dbcf89449de8fe3d79e4058f1cf981d99b0efe231b237a6e9a38f6b8194d72039962ee4d18776a98978ce6e216a1622d96b6de7715cb5ac294e0d60c14f55257930acfa1121f4bec9134c736110000000049438190f38d24995ebfcb0fad075c37733b168f668193d588b7600e20fbca739d33ab8dd9740212b2aff50c93ee39b0c72b408c4c68714edca78a0b06e2a8ecf123d58abf5be08a06a01f0a79d517291b1c6a89324f4fc73098b408ecc886654514ff87a542be036e616d652031323535000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000006f0c948618362d408488de0599042985ae80730445a3d31ac3fcbd83fe1c0bb9d8780803b8964257edf4528271107af502719d012b8ab19317ede780e403e9312c6932009e7d20d041e57c7f57f7576e5661c7fe10718f0c6bdd117e80595cfd95d5a67caa51f1fbbfcd3b7bd44986fae9c5d079fe411bf913be6578283ab0f73db6fa76523245f667ae8f757c2adaf491a62474a6226ff3bb9eb97200000000d01a04f21b00762ce5964e71d579adcafa1299f08ef3e4680f8fe36f486d1c07240b2eef01e753a53987786ebb608b434e03c3ed74dac2e1637f0d6d2e54fa7f78fb57ece7cd311e8d77a26ba14769bca2f3ecea5ac1a05ab76f376a143bd8f8cceb81e9cdb40f976e616d65203132393800000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000");
    }
    {
        WideCpyTensorReply m;
        m.copied = true;
        visit("wide_cpy_tensor_reply", m, "01000000");
    }
    {
        WideGraphComputeRequest m;
        m.resource = 1734434827u;
        m.size = 1147744677020818464ull;
        visit("wide_graph_compute_request", m, "0b60616720dcabe6b39bed0f");
    }
    {
        WideGraphComputeReply m;
        m.status = 1710643253u;
        visit("wide_graph_compute_reply", m, "3558f665");
    }
    {
        RingCreateRequest m;
        m.resource = 3846231114u;
        m.slots = 1686851679u;
        m.slot_size = 3822439540u;
        visit("ring_create_request", m, "4ad440e55f508b6474ccd5e3");
    }
    {
        RingCreateReply m;
        visit("ring_create_reply", m, "");
    }
    {
        RingKickRequest m;
        visit("ring_kick_request", m, "");
    }
    {
        RingKickReply m;
        visit("ring_kick_reply", m, "");
    }
    {
        GraphKeepRequest m;
        m.resource = 1663060105u;
        m.size = 14211801371831354526ull;
        m.wide = false;
        m.dropped.resize(2);
        m.dropped[0] = 119742863058648264ull;
        m.dropped[1] = 11520457682381846749ull;
        visit("graph_keep_request", m, "894820639ec46ae20c763ac50000000002000000c8bcffe07f69a901dd384a6039e3e09f");
    }
    {
        GraphKeepReply m;
        m.status = -543902478;
        m.graph = 15875143247318692103ull;
        visit("graph_keep_reply", m, "f2b494df0731df5eacd64fdc");
    }
    {
        GraphRunRequest m;
        m.graph = 8829113992932338972ull;
        visit("graph_run_request", m, "1cad29de6550877a");
    }
    {
        GraphRunReply m;
        m.known = false;
        m.status = -591485626;
        visit("graph_run_reply", m, "0000000046a5bedc");
    }
    {
        GraphPatchRequest m;
        m.graph = 6137770303482831195ull;
        m.resource = 3679690096u;
        m.size = 10492455868419676549ull;
        visit("graph_patch_request", m, "5b21095c92bd2d55709d53db85199e5a05b19c91");
    }
    {
        GraphPatchReply m;
        m.known = true;
        m.status = 1496519087u;
        visit("graph_patch_reply", m, "01000000af113359");
    }
    {
        DeviceSummaryRequest m;
        visit("device_summary_request", m, "");
    }
    {
        DeviceSummaryReply m;
        m.name = "text 1321";
        m.description = "text 1322";
        m.type = 3608315374u;
        m.free = 5109768489520660995ull;
        m.total = 16510483308843859480ull;
        m.buffer_from_host_ptr = false;
        m.mmap_support = true;
        m.buft = 13819139619394351703ull;
        m.buft_name = "text 1329";
        m.alignment = 18173825184331197057ull;
        m.max_size = 11127795929944843926ull;
        visit("device_summary_reply", m, "0a000000000000007465787420313332310000000a00000000000000746578742031333232000000ee8512d703025d565e8be946187ea7d5170521e5000000000100000057f286534472c7bf0a0000000000000074657874203133323900000081ea1b52b76536fc966666d170df6d9a");
    }
    {
        BatchRequest m;
        m.count = 1353769643u;
        visit("batch_request", m, "abe2b050");
    }
    {
        BatchReply m;
        visit("batch_reply", m, "");
    }
    {
        SetTensorInlineRequest m;
        m.buffer = 15482481494881689280ull;
        m.tensor.id = 8436452240495336149ull;
        m.tensor.type = 3465565930u;
        m.tensor.buffer = 12791137805432181503ull;
        m.tensor.ne[0] = 3441774356u;
        m.tensor.ne[1] = 1282394921u;
        m.tensor.ne[2] = 3417982782u;
        m.tensor.ne[3] = 1258603347u;
        m.tensor.nb[0] = 3394191208u;
        m.tensor.nb[1] = 1234811773u;
        m.tensor.nb[2] = 3370399634u;
        m.tensor.nb[3] = 1211020199u;
        m.tensor.op = 3346608060u;
        m.tensor.op_params[0] = 1187228625u;
        m.tensor.op_params[1] = -972150810;
        m.tensor.op_params[2] = 1163437051u;
        m.tensor.op_params[3] = -995942384;
        m.tensor.op_params[4] = 1139645477u;
        m.tensor.op_params[5] = -1019733958;
        m.tensor.op_params[6] = 1115853903u;
        m.tensor.op_params[7] = -1043525532;
        m.tensor.op_params[8] = 1092062329u;
        m.tensor.op_params[9] = -1067317106;
        m.tensor.op_params[10] = 1068270755u;
        m.tensor.op_params[11] = -1091108680;
        m.tensor.op_params[12] = 1044479181u;
        m.tensor.op_params[13] = -1114900254;
        m.tensor.op_params[14] = 1020687607u;
        m.tensor.op_params[15] = -1138691828;
        m.tensor.flags = 996896033u;
        m.tensor.src[0] = 7015788674096163126ull;
        m.tensor.src[1] = 18416503493419361611ull;
        m.tensor.src[2] = 11370474239033008480ull;
        m.tensor.src[3] = 4324444984646655349ull;
        m.tensor.src[4] = 15725159803969853834ull;
        m.tensor.src[5] = 8679130549583500703ull;
        m.tensor.src[6] = 1633101295197147572ull;
        m.tensor.src[7] = 13033816114520346057ull;
        m.tensor.src[8] = 5987786860133992926ull;
        m.tensor.src[9] = 17388501679457191411ull;
        m.tensor.view_src = 10342472425070838280ull;
        m.tensor.view_offs = 3296443170684485149ull;
        m.tensor.data = 14697157990007683634ull;
        std::strcpy(m.tensor.name, "name 1376");
        m.offset = 605099481234977372ull;
        m.size = 12005814300558175857ull;
        visit("set_tensor_inline_request", m, "c05efbcfe3d2dcd6d5da454f9d4c1475ea5690ce00000000ffd2da4d104083b1144f25cd29cb6f4c3e47bacb53c3044b683f4fca7dbb99499237e4c8a7b32e48bc2f79c7d1abc346e6270ec6fba358451020a3c4259ced433a1838c34f9482426410cdc1798c17418e0862c0a384ac3fb800f7becd7c413ee2f88bbdf774d63c0cf120bc216d6b3b36e9b5baa0165d614b65003a5a9094ff60e14ab9130acc9d755d9538cd83033c8ad9dfb786fd3ada9f552a3740777278b4d174b6f9f0a916c94dbf35b36ae1b4dec909b56ce41853f3455434265e50f108c29eb3dfd7878f1d3ee9329951bf2d32ba33b252cbf6cb6e616d6520313337360000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000005cb2c8b0c5be6508712e13307f389da6");
    }
    {
        SetTensorInlineReply m;
        visit("set_tensor_inline_reply", m, "");
    }
    {
        PipeSetTensorRequest m;
        m.buffer = 4959785046171822726ull;
        m.tensor.id = 16360499865495021211ull;
        m.tensor.type = 2918359728u;
        m.tensor.op = 758980293u;
        m.tensor.buffer = 13669156176045513434ull;
        m.tensor.ne[0] = 6623126921659160303ull;
        m.tensor.ne[1] = -422902332727192828ll;
        m.tensor.ne[2] = -7468931587113545959ll;
        m.tensor.ne[3] = 3931783232209652526ull;
        m.tensor.nb[0] = 15332498051532851011ull;
        m.tensor.nb[1] = 8286468797146497880ull;
        m.tensor.nb[2] = 1240439542760144749ull;
        m.tensor.nb[3] = 12641154362083343234ull;
        m.tensor.op_params[0] = 640022423u;
        m.tensor.op_params[1] = -1519357012;
        m.tensor.op_params[2] = 616230849u;
        m.tensor.op_params[3] = -1543148586;
        m.tensor.op_params[4] = 592439275u;
        m.tensor.op_params[5] = -1566940160;
        m.tensor.op_params[6] = 568647701u;
        m.tensor.op_params[7] = -1590731734;
        m.tensor.op_params[8] = 544856127u;
        m.tensor.op_params[9] = -1614523308;
        m.tensor.op_params[10] = 521064553u;
        m.tensor.op_params[11] = -1638314882;
        m.tensor.op_params[12] = 497272979u;
        m.tensor.op_params[13] = -1662106456;
        m.tensor.op_params[14] = 473481405u;
        m.tensor.op_params[15] = -1685898030;
        m.tensor.flags = 449689831u;
        m.tensor.src[0] = 14939836299095848188ull;
        m.tensor.src[1] = 7893807044709495057ull;
        m.tensor.src[2] = 847777790323141926ull;
        m.tensor.src[3] = 12248492609646340411ull;
        m.tensor.src[4] = 5202463355259987280ull;
        m.tensor.src[5] = 16603178174583185765ull;
        m.tensor.src[6] = 9557148920196832634ull;
        m.tensor.src[7] = 2511119665810479503ull;
        m.tensor.src[8] = 13911834485133677988ull;
        m.tensor.src[9] = 6865805230747324857ull;
        m.tensor.view_src = 18266520050070523342ull;
        m.tensor.view_offs = 11220490795684170211ull;
        m.tensor.data = 4174461541297817080ull;
        std::strcpy(m.tensor.name, "name 1422");
        m.resource = 2418736674u;
        m.area = 259357239u;
        m.room = 2394945100u;
        m.offset = 5837803416785154657ull;
        m.size = 17238518236108353142ull;
        visit("pipe_set_tensor_request", m, "86aa5daf38b2d4449b26a82ef22b0ce3b0a2f2adc51e3d2dda9a87ac1e99b2bdef16d22bd812ea5b04931cab918c21fa190f672a4b0659982e8bb1a9048090364307fc28bef9c7d4588346a87773ff726dff902731ed3611827bdba6ea666eaf97f72526ac7370a5c1efba24d66b05a4ebe74f2300649aa215e0e4212a5c2fa13fd879205454c49f69d00e1f7e4c599e93c8a31da844ee9cbdc0381cd23c839be7b8cd1a00000000fc34189af5f554cf11b16219af6f8c6d262dad9868e9c30b3ba9f7172263fba950254297dbdc324865a18c1695566ae67a1dd7954ed0a1848f992115084ad922a4156c94c1c310c1b991b6137b3d485fce0d019334b77ffde3894b12ee30b79bf8059691a7aaee396e616d6520313432320000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000022fe2a90377a750f4cf6bf8e61720a0e470b045176ee548d00853bef");
    }
    {
        PipeSetTensorReply m;
        visit("pipe_set_tensor_reply", m, "");
    }
    {
        PipeGetTensorRequest m;
        m.buffer = 10192488981722000011ull;
        m.tensor.id = 3146459727335646880ull;
        m.tensor.type = 187982517u;
        m.tensor.op = 2323570378u;
        m.tensor.buffer = 455116037886139103ull;
        m.tensor.ne[0] = -6590913216500214028ll;
        m.tensor.ne[1] = 4809801602822984457ull;
        m.tensor.ne[2] = -2236227651563368674ll;
        m.tensor.ne[3] = 9164487167759829811ull;
        m.tensor.nb[0] = 2118457913373476680ull;
        m.tensor.nb[1] = 13519172732696675165ull;
        m.tensor.nb[2] = 6473143478310322034ull;
        m.tensor.nb[3] = 17873858297633520519ull;
        m.tensor.op_params[0] = -2090354788;
        m.tensor.op_params[1] = 45233073u;
        m.tensor.op_params[2] = -2114146362;
        m.tensor.op_params[3] = 21441499u;
        m.tensor.op_params[4] = -2137937936;
        m.tensor.op_params[5] = -2350075;
        m.tensor.op_params[6] = 2133237786u;
        m.tensor.op_params[7] = -26141649;
        m.tensor.op_params[8] = 2109446212u;
        m.tensor.op_params[9] = -49933223;
        m.tensor.op_params[10] = 2085654638u;
        m.tensor.op_params[11] = -73724797;
        m.tensor.op_params[12] = 2061863064u;
        m.tensor.op_params[13] = -97516371;
        m.tensor.op_params[14] = 2038071490u;
        m.tensor.op_params[15] = -121307945;
        m.tensor.flags = 2014279916u;
        m.tensor.src[0] = 1725796160936473857ull;
        m.tensor.src[1] = 13126510980259672342ull;
        m.tensor.src[2] = 6080481725873319211ull;
        m.tensor.src[3] = 17481196545196517696ull;
        m.tensor.src[4] = 10435167290810164565ull;
        m.tensor.src[5] = 3389138036423811434ull;
        m.tensor.src[6] = 14789852855747009919ull;
        m.tensor.src[7] = 7743823601360656788ull;
        m.tensor.src[8] = 697794346974303657ull;
        m.tensor.src[9] = 12098509166297502142ull;
        m.tensor.view_src = 5052479911911149011ull;
        m.tensor.view_offs = 16453194731234347496ull;
        m.tensor.data = 9407165476847994365ull;
        std::strcpy(m.tensor.name, "name 1471");
        m.resource = 3983326759u;
        m.area = 1823947324u;
        m.room = 3959535185u;
        m.offset = 11070507352335331942ull;
        m.size = 4024478097948978811ull;
        visit("pipe_get_tensor_request", m, "8b6a9f0cbafe728da0e6e98b7378aa2bb562340bcade7e8adf5ac909a0e55006f4d61389595f88a409535e0813d9bf421ecfa887cc52f7e0334bf30686cc2e7f48c73d863f46661d5d438805f9bf9dbb72bfd284b239d559873b1d046cb30cf89cb76783b133b202c6affc81db2b4701f0a791800524dcff1aa0267f2f1c71fe4498bb7d591406fd6e90507c830c9bfb9888e57aad0430fac2807a79d7fcc4f8ec780f780000000001f559f77642f3171671a47630bc2ab62bedeef5e935625440693975a3af99f255e583f45c29d1906a61ce7316a3082f7fdd18f3cf1c40cd945963728996776ba9d5adf14210af09be51f870fc89e6a7d3cd42f0b5031e46e8498d6f6f7d55e4fdc5d7ee28f78c826e616d6520313437310000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000027be6ced3c3ab76c51b601ec66324c6bc857a2997bae96ea81d1d937");
    }
    {
        PipeGetTensorReply m;
        visit("pipe_get_tensor_reply", m, "");
    }
    {
        AllocWithBaseRequest m;
        m.buft = 15425192917272177296ull;
        m.size = 8379163662885824165ull;
        visit("alloc_with_base_request", m, "902ae1693b4b11d6a5a62be9f4c44874");
    }
    {
        AllocWithBaseReply m;
        m.buffer = 1333134408499471034ull;
        m.base = 12733849227822669519ull;
        visit("alloc_with_base_reply", m, "ba227668ae3e8012cf9ec0e767b8b7b0");
    }
}

} // namespace apir
