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
        GraphChanges m;
        m.positions.resize(2);
        m.positions[0] = 2077648083u;
        m.positions[1] = 4213235944u;
        m.tensors.resize(2);
        m.tensors[0].id = 7866759047409261821ull;
        m.tensors[0].type = 4189444370u;
        m.tensors[0].buffer = 12221444612346107175ull;
        m.tensors[0].ne[0] = 4165652796u;
        m.tensors[0].ne[1] = 2006273361u;
        m.tensors[0].ne[2] = 4141861222u;
        m.tensors[0].ne[3] = 1982481787u;
        m.tensors[0].nb[0] = 4118069648u;
        m.tensors[0].nb[1] = 1958690213u;
        m.tensors[0].nb[2] = 4094278074u;
        m.tensors[0].nb[3] = 1934898639u;
        m.tensors[0].op = 4070486500u;
        m.tensors[0].op_params[0] = 1911107065u;
        m.tensors[0].op_params[1] = -248272370;
        m.tensors[0].op_params[2] = 1887315491u;
        m.tensors[0].op_params[3] = -272063944;
        m.tensors[0].op_params[4] = 1863523917u;
        m.tensors[0].op_params[5] = -295855518;
        m.tensors[0].op_params[6] = 1839732343u;
        m.tensors[0].op_params[7] = -319647092;
        m.tensors[0].op_params[8] = 1815940769u;
        m.tensors[0].op_params[9] = -343438666;
        m.tensors[0].op_params[10] = 1792149195u;
        m.tensors[0].op_params[11] = -367230240;
        m.tensors[0].op_params[12] = 1768357621u;
        m.tensors[0].op_params[13] = -391021814;
        m.tensors[0].op_params[14] = 1744566047u;
        m.tensors[0].op_params[15] = -414813388;
        m.tensors[0].flags = 1720774473u;
        m.tensors[0].src[0] = 6446095481010088798ull;
        m.tensors[0].src[1] = 17846810300333287283ull;
        m.tensors[0].src[2] = 10800781045946934152ull;
        m.tensors[0].src[3] = 3754751791560581021ull;
        m.tensors[0].src[4] = 15155466610883779506ull;
        m.tensors[0].src[5] = 8109437356497426375ull;
        m.tensors[0].src[6] = 1063408102111073244ull;
        m.tensors[0].src[7] = 12464122921434271729ull;
        m.tensors[0].src[8] = 5418093667047918598ull;
        m.tensors[0].src[9] = 16818808486371117083ull;
        m.tensors[0].view_src = 9772779231984763952ull;
        m.tensors[0].view_offs = 2726749977598410821ull;
        m.tensors[0].data = 14127464796921609306ull;
        std::strcpy(m.tensors[0].name, "name 232");
        m.tensors[1].id = 35406288148903044ull;
        m.tensors[1].type = 1530441881u;
        m.tensors[1].buffer = 4390091853085748398ull;
        m.tensors[1].ne[0] = 1506650307u;
        m.tensors[1].ne[1] = 3642238168u;
        m.tensors[1].ne[2] = 1482858733u;
        m.tensors[1].ne[3] = 3618446594u;
        m.tensors[1].nb[0] = 1459067159u;
        m.tensors[1].nb[1] = 3594655020u;
        m.tensors[1].nb[2] = 1435275585u;
        m.tensors[1].nb[3] = 3570863446u;
        m.tensors[1].op = 1411484011u;
        m.tensors[1].op_params[0] = -747895424;
        m.tensors[1].op_params[1] = 1387692437u;
        m.tensors[1].op_params[2] = -771686998;
        m.tensors[1].op_params[3] = 1363900863u;
        m.tensors[1].op_params[4] = -795478572;
        m.tensors[1].op_params[5] = 1340109289u;
        m.tensors[1].op_params[6] = -819270146;
        m.tensors[1].op_params[7] = 1316317715u;
        m.tensors[1].op_params[8] = -843061720;
        m.tensors[1].op_params[9] = 1292526141u;
        m.tensors[1].op_params[10] = -866853294;
        m.tensors[1].op_params[11] = 1268734567u;
        m.tensors[1].op_params[12] = -890644868;
        m.tensors[1].op_params[13] = 1244942993u;
        m.tensors[1].op_params[14] = -914436442;
        m.tensors[1].op_params[15] = 1221151419u;
        m.tensors[1].flags = -938228016;
        m.tensors[1].src[0] = 17061486795459281637ull;
        m.tensors[1].src[1] = 10015457541072928506ull;
        m.tensors[1].src[2] = 2969428286686575375ull;
        m.tensors[1].src[3] = 14370143106009773860ull;
        m.tensors[1].src[4] = 7324113851623420729ull;
        m.tensors[1].src[5] = 278084597237067598ull;
        m.tensors[1].src[6] = 11678799416560266083ull;
        m.tensors[1].src[7] = 4632770162173912952ull;
        m.tensors[1].src[8] = 16033484981497111437ull;
        m.tensors[1].src[9] = 8987455727110758306ull;
        m.tensors[1].view_src = 1941426472724405175ull;
        m.tensors[1].view_offs = 13342141292047603660ull;
        m.tensors[1].data = 6296112037661250529ull;
        std::strcpy(m.tensors[1].name, "name 275");
        visit("graph_changes", m, "02000000d364d67be8e020fb02000000fd5c6b7aac572c6d12d9b5f900000000275500791f4b9ba93cd14af8514d957766c9dff67b452a7690c174f5a53dbf74bab909f4cf355473e4b19ef2f92de9710eaa33f123267e7038a2c8ef4d1e136f629a5dee7716a86d8c92f2eca10e3d6cb68a87ebcb06d26ae0821ceaf5fe66690a7bb1e81ff7fb67347346e749ef90665e6bdbe5af21755973e72565699bacf7886370e42215e4959ddfba63dc8e1b34b25b05e3950853d2c7d74f624f828a70dc539ae108fcc10ef1cfe460c275f9ac064c2fe07bef304b1bc8795f356968e93044c4deeee29f8745c00e5ea85cd7255a3c59dd61d60ec46e616d6520323332000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000008434eedbd4c97d0099b0385b00000000ae2c83da47bdec3cc3a8cd59d82418d9eda06258021dadd71799f7562c1542d641918c55560dd7d46b89215480056cd39581b652aafd00d2bf794b51d4f595d0e971e04ffeed2acf136a754e28e6bfcd3d620a4d52de54cc675a9f4b7cd6e9ca9152344aa6ce7ec9bb4ac948d0c613c8e5425e47d893c6ecfabea8c6910dfe8a0f3bf3454b87352924b73dc504016dc739338844be7aa4654eafd2c377f4db03632b1d43316e13a278a767c2eae74a408d23b241a46182dea29ffcc05ddbb97cb71b47401755f11acc9791bfd0ce28b9e113dc3e8a4860576e616d652032373500000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000");
    }
    {
        WideGraphChanges m;
        m.positions.resize(2);
        m.positions[0] = 1030818827u;
        m.positions[1] = 3166406688u;
        m.tensors.resize(2);
        m.tensors[0].id = 15005483167534941237ull;
        m.tensors[0].type = 3142615114u;
        m.tensors[0].op = 983235679u;
        m.tensors[0].buffer = 12314139478085433460ull;
        m.tensors[0].ne[0] = 5268110223699080329ull;
        m.tensors[0].ne[1] = -1777919030687272802ll;
        m.tensors[0].ne[2] = -8823948285073625933ll;
        m.tensors[0].ne[3] = 2576766534249572552ull;
        m.tensors[0].nb[0] = 13977481353572771037ull;
        m.tensors[0].nb[1] = 6931452099186417906ull;
        m.tensors[0].nb[2] = 18332166918509616391ull;
        m.tensors[0].nb[3] = 11286137664123263260ull;
        m.tensors[0].op_params[0] = 864277809u;
        m.tensors[0].op_params[1] = -1295101626;
        m.tensors[0].op_params[2] = 840486235u;
        m.tensors[0].op_params[3] = -1318893200;
        m.tensors[0].op_params[4] = 816694661u;
        m.tensors[0].op_params[5] = -1342684774;
        m.tensors[0].op_params[6] = 792903087u;
        m.tensors[0].op_params[7] = -1366476348;
        m.tensors[0].op_params[8] = 769111513u;
        m.tensors[0].op_params[9] = -1390267922;
        m.tensors[0].op_params[10] = 745319939u;
        m.tensors[0].op_params[11] = -1414059496;
        m.tensors[0].op_params[12] = 721528365u;
        m.tensors[0].op_params[13] = -1437851070;
        m.tensors[0].op_params[14] = 697736791u;
        m.tensors[0].op_params[15] = -1461642644;
        m.tensors[0].flags = 673945217u;
        m.tensors[0].src[0] = 13584819601135768214ull;
        m.tensors[0].src[1] = 6538790346749415083ull;
        m.tensors[0].src[2] = 17939505166072613568ull;
        m.tensors[0].src[3] = 10893475911686260437ull;
        m.tensors[0].src[4] = 3847446657299907306ull;
        m.tensors[0].src[5] = 15248161476623105791ull;
        m.tensors[0].src[6] = 8202132222236752660ull;
        m.tensors[0].src[7] = 1156102967850399529ull;
        m.tensors[0].src[8] = 12556817787173598014ull;
        m.tensors[0].src[9] = 5510788532787244883ull;
        m.tensors[0].view_src = 16911503352110443368ull;
        m.tensors[0].view_offs = 9865474097724090237ull;
        m.tensors[0].data = 2819444843337737106ull;
        std::strcpy(m.tensors[0].name, "name 320");
        m.tensors[1].id = 7174130408274582460ull;
        m.tensors[1].type = 483612625u;
        m.tensors[1].op = 2619200486u;
        m.tensors[1].buffer = 4482786718825074683ull;
        m.tensors[1].ne[0] = -2563242535561278448ll;
        m.tensors[1].ne[1] = 8837472283761920037ull;
        m.tensors[1].ne[2] = 1791443029375566906ull;
        m.tensors[1].ne[3] = -5254586225010786225ll;
        m.tensors[1].nb[0] = 6146128594312412260ull;
        m.tensors[1].nb[1] = 17546843413635610745ull;
        m.tensors[1].nb[2] = 10500814159249257614ull;
        m.tensors[1].nb[3] = 3454784904862904483ull;
        m.tensors[1].op_params[0] = -1794724680;
        m.tensors[1].op_params[1] = 340863181u;
        m.tensors[1].op_params[2] = -1818516254;
        m.tensors[1].op_params[3] = 317071607u;
        m.tensors[1].op_params[4] = -1842307828;
        m.tensors[1].op_params[5] = 293280033u;
        m.tensors[1].op_params[6] = -1866099402;
        m.tensors[1].op_params[7] = 269488459u;
        m.tensors[1].op_params[8] = -1889890976;
        m.tensors[1].op_params[9] = 245696885u;
        m.tensors[1].op_params[10] = -1913682550;
        m.tensors[1].op_params[11] = 221905311u;
        m.tensors[1].op_params[12] = -1937474124;
        m.tensors[1].op_params[13] = 198113737u;
        m.tensors[1].op_params[14] = -1961265698;
        m.tensors[1].op_params[15] = 174322163u;
        m.tensors[1].flags = -1985057272;
        m.tensors[1].src[0] = 5753466841875409437ull;
        m.tensors[1].src[1] = 17154181661198607922ull;
        m.tensors[1].src[2] = 10108152406812254791ull;
        m.tensors[1].src[3] = 3062123152425901660ull;
        m.tensors[1].src[4] = 14462837971749100145ull;
        m.tensors[1].src[5] = 7416808717362747014ull;
        m.tensors[1].src[6] = 370779462976393883ull;
        m.tensors[1].src[7] = 11771494282299592368ull;
        m.tensors[1].src[8] = 4725465027913239237ull;
        m.tensors[1].src[9] = 16126179847236437722ull;
        m.tensors[1].view_src = 9080150592850084591ull;
        m.tensors[1].view_offs = 2034121338463731460ull;
        m.tensors[1].data = 13434836157786929945ull;
        std::strcpy(m.tensors[1].name, "name 363");
        visit("wide_graph_changes", m, "020000000b0c713d2088bbbc020000003504063c702f3ed04a8050bb5ffc9a3a7478e5b99c9ce4aa89f42f3956161c499e707ab80f9053e7b3ecc437c9098b85c8680fb78283c223dde459363cfdf9c1f260a4b5f576316007ddee34aff068fe1c5939b4686aa09c31d583334651ceb25bcd1832704963b185c5ad309a41f8afafbd422fc4398daed9b5d72dee3122ad03ae6c2c182ab7ab2da6012b42224caa579e96296c1ae1a881962b2800000000961276a773f986bcab8ec0262d73be5ac00a0ba6e6ecf5f8d5865525a0662d97ea02a0a459e06435ff7eea23135a9cd314fb34a3ccd3d37129777f22864d0b103ef3c9a13fc742ae536f1421f9407a4c68eb5ea0b2bab1ea7d67a91f6c34e98892e3f39e25ae20276e616d65203332300000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000bcdb889d98a18f63d157d31ce6d31d9cfb4f681bc50e363e10ccb29a7e886ddc2548fd193802a57a3ac44799f17bdc184f409218abf513b764bcdc97646f4b55793827171ee982f38eb47196d762ba91a330bc1591dcf12fb8ac0695cd285114e2a49b93f720e6120c9d309221197b113695c5904b111010608d5a8f7509a50e8a85ef8d9f013a0db47d848cc9f9ce0bde75198bf3f1630a086eae89000000001deaf8089c6bd84f3266438855e50fee47e28d070f5f478c5c5ed886c8d87e2a71da22068252b6c886566d853bcced669bd2b704f5452505b04e0284aebf5ca3c5ca4c0368399441da46978221b3cbdfefc2e101db2c037e043f2c8194a63a1c19bb76004e2072ba6e616d65203336330000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000");
    }
    {
        DeviceGetDeviceCountRequest m;
        visit("device_get_device_count_request", m, "");
    }
    {
        DeviceGetDeviceCountReply m;
        m.count = -16010429;
        visit("device_get_device_count_reply", m, "43b30bff");
    }
    {
        DeviceGetCountRequest m;
        visit("device_get_count_request", m, "");
    }
    {
        DeviceGetCountReply m;
        m.count = 2119577432u;
        visit("device_get_count_reply", m, "582f567e");
    }
    {
        DeviceGetNameRequest m;
        visit("device_get_name_request", m, "");
    }
    {
        DeviceGetNameReply m;
        m.name = "text 366";
        visit("device_get_name_reply", m, "0900000000000000746578742033363600000000");
    }
    {
        DeviceGetDescriptionRequest m;
        visit("device_get_description_request", m, "");
    }
    {
        DeviceGetDescriptionReply m;
        m.description = "text 367";
        visit("device_get_description_reply", m, "0900000000000000746578742033363700000000");
    }
    {
        DeviceGetTypeRequest m;
        visit("device_get_type_request", m, "");
    }
    {
        DeviceGetTypeReply m;
        m.type = 4231373719u;
        visit("device_get_type_reply", m, "97a335fc");
    }
    {
        DeviceGetMemoryRequest m;
        visit("device_get_memory_request", m, "");
    }
    {
        DeviceGetMemoryReply m;
        m.free = 1006119524501561260ull;
        m.total = 12406834343824759745ull;
        visit("device_get_memory_reply", m, "ac1f807b6074f60dc19bcafa19ee2dac");
    }
    {
        DeviceSupportsOpRequest m;
        m.op.tensor.type = 2048202710u;
        m.op.tensor.buffer = 1u;
        m.op.tensor.ne[0] = -8731253419334299648ll;
        m.op.tensor.ne[1] = 2669461399988898837ull;
        m.op.tensor.ne[2] = -4376567854397454294ll;
        m.op.tensor.ne[3] = 7024146964925744191ull;
        m.op.tensor.nb[0] = 18424861784248942676ull;
        m.op.tensor.nb[1] = 11378832529862589545ull;
        m.op.tensor.nb[2] = 4332803275476236414ull;
        m.op.tensor.nb[3] = 15733518094799434899ull;
        m.op.tensor.op = 1929244840u;
        m.op.tensor.op_params[0] = -230134595;
        m.op.tensor.op_params[1] = 1905453266u;
        m.op.tensor.op_params[2] = -253926169;
        m.op.tensor.op_params[3] = 1881661692u;
        m.op.tensor.op_params[4] = -277717743;
        m.op.tensor.op_params[5] = 1857870118u;
        m.op.tensor.op_params[6] = -301509317;
        m.op.tensor.op_params[7] = 1834078544u;
        m.op.tensor.op_params[8] = -325300891;
        m.op.tensor.op_params[9] = 1810286970u;
        m.op.tensor.op_params[10] = -349092465;
        m.op.tensor.op_params[11] = 1786495396u;
        m.op.tensor.op_params[12] = -372884039;
        m.op.tensor.op_params[13] = 1762703822u;
        m.op.tensor.op_params[14] = -396675613;
        m.op.tensor.op_params[15] = 1738912248u;
        m.op.tensor.flags = -420467187;
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
        m.op.tensor.view_offs = 7266825274013908745ull;
        m.op.tensor.data = 220796019627555614ull;
        std::strcpy(m.op.tensor.name, "name 412");
        m.op.tensor.extra = 4575481584564400968ull;
        m.op.handle = 15976196403887599453ull;
        m.op.view_src.type = 1524788082u;
        m.op.view_src.buffer = 1884137895114893191ull;
        m.op.view_src.ne[0] = -5161891359271459940ll;
        m.op.view_src.ne[1] = 6238823460051738545ull;
        m.op.view_src.ne[2] = -807205794334614586ll;
        m.op.view_src.ne[3] = -7853235048720967717ll;
        m.op.view_src.nb[0] = 3547479770602230768ull;
        m.op.view_src.nb[1] = 14948194589925429253ull;
        m.op.view_src.nb[2] = 7902165335539076122ull;
        m.op.view_src.nb[3] = 856136081152722991ull;
        m.op.view_src.op = 1405830212u;
        m.op.view_src.op_params[0] = -753549223;
        m.op.view_src.op_params[1] = 1382038638u;
        m.op.view_src.op_params[2] = -777340797;
        m.op.view_src.op_params[3] = 1358247064u;
        m.op.view_src.op_params[4] = -801132371;
        m.op.view_src.op_params[5] = 1334455490u;
        m.op.view_src.op_params[6] = -824923945;
        m.op.view_src.op_params[7] = 1310663916u;
        m.op.view_src.op_params[8] = -848715519;
        m.op.view_src.op_params[9] = 1286872342u;
        m.op.view_src.op_params[10] = -872507093;
        m.op.view_src.op_params[11] = 1263080768u;
        m.op.view_src.op_params[12] = -896298667;
        m.op.view_src.op_params[13] = 1239289194u;
        m.op.view_src.op_params[14] = -920090241;
        m.op.view_src.op_params[15] = 1215497620u;
        m.op.view_src.flags = -943881815;
        m.op.view_src.src[0] = 14555532837488426430ull;
        m.op.view_src.src[1] = 7509503583102073299ull;
        m.op.view_src.src[2] = 463474328715720168ull;
        m.op.view_src.src[3] = 11864189148038918653ull;
        m.op.view_src.src[4] = 4818159893652565522ull;
        m.op.view_src.src[5] = 16218874712975764007ull;
        m.op.view_src.src[6] = 9172845458589410876ull;
        m.op.view_src.src[7] = 2126816204203057745ull;
        m.op.view_src.src[8] = 13527531023526256230ull;
        m.op.view_src.src[9] = 6481501769139903099ull;
        m.op.view_src.view_src = 17882216588463101584ull;
        m.op.view_src.view_offs = 10836187334076748453ull;
        m.op.view_src.data = 3790158079690395322ull;
        std::strcpy(m.op.view_src.name, "name 456");
        m.op.view_src.extra = 8144843644627240676ull;
        m.op.src[0].type = 3160752889u;
        m.op.src[0].buffer = 12499529209564086030ull;
        m.op.src[0].ne[0] = 5453499955177732899ull;
        m.op.src[0].ne[1] = -1592529299208620232ll;
        m.op.src[0].ne[2] = -8638558553594973363ll;
        m.op.src[0].ne[3] = 2762156265728225122ull;
        m.op.src[0].nb[0] = 14162871085051423607ull;
        m.op.src[0].nb[1] = 7116841830665070476ull;
        m.op.src[0].nb[2] = 70812576278717345ull;
        m.op.src[0].nb[3] = 11471527395601915830ull;
        m.op.src[0].op = 3041795019u;
        m.op.src[0].op_params[0] = 882415584u;
        m.op.src[0].op_params[1] = -1276963851;
        m.op.src[0].op_params[2] = 858624010u;
        m.op.src[0].op_params[3] = -1300755425;
        m.op.src[0].op_params[4] = 834832436u;
        m.op.src[0].op_params[5] = -1324546999;
        m.op.src[0].op_params[6] = 811040862u;
        m.op.src[0].op_params[7] = -1348338573;
        m.op.src[0].op_params[8] = 787249288u;
        m.op.src[0].op_params[9] = -1372130147;
        m.op.src[0].op_params[10] = 763457714u;
        m.op.src[0].op_params[11] = -1395921721;
        m.op.src[0].op_params[12] = 739666140u;
        m.op.src[0].op_params[13] = -1419713295;
        m.op.src[0].op_params[14] = 715874566u;
        m.op.src[0].op_params[15] = -1443504869;
        m.op.src[0].flags = 692082992u;
        m.op.src[0].src[0] = 6724180078228067653ull;
        m.op.src[0].src[1] = 18124894897551266138ull;
        m.op.src[0].src[2] = 11078865643164913007ull;
        m.op.src[0].src[3] = 4032836388778559876ull;
        m.op.src[0].src[4] = 15433551208101758361ull;
        m.op.src[0].src[5] = 8387521953715405230ull;
        m.op.src[0].src[6] = 1341492699329052099ull;
        m.op.src[0].src[7] = 12742207518652250584ull;
        m.op.src[0].src[8] = 5696178264265897453ull;
        m.op.src[0].src[9] = 17096893083589095938ull;
        m.op.src[0].view_src = 10050863829202742807ull;
        m.op.src[0].view_offs = 3004834574816389676ull;
        m.op.src[0].data = 14405549394139588161ull;
        std::strcpy(m.op.src[0].name, "name 499");
        m.op.src[0].extra = 313490885366881899ull;
        m.op.src[1].type = 501750400u;
        m.op.src[1].buffer = 4668176450303727253ull;
        m.op.src[1].ne[0] = -2377852804082625878ll;
        m.op.src[1].ne[1] = 9022862015240572607ull;
        m.op.src[1].ne[2] = 1976832760854219476ull;
        m.op.src[1].ne[3] = -5069196493532133655ll;
        m.op.src[1].nb[0] = 6331518325791064830ull;
        m.op.src[1].nb[1] = 17732233145114263315ull;
        m.op.src[1].nb[2] = 10686203890727910184ull;
        m.op.src[1].nb[3] = 3640174636341557053ull;
        m.op.src[1].op = 382792530u;
        m.op.src[1].op_params[0] = -1776586905;
        m.op.src[1].op_params[1] = 359000956u;
        m.op.src[1].op_params[2] = -1800378479;
        m.op.src[1].op_params[3] = 335209382u;
        m.op.src[1].op_params[4] = -1824170053;
        m.op.src[1].op_params[5] = 311417808u;
        m.op.src[1].op_params[6] = -1847961627;
        m.op.src[1].op_params[7] = 287626234u;
        m.op.src[1].op_params[8] = -1871753201;
        m.op.src[1].op_params[9] = 263834660u;
        m.op.src[1].op_params[10] = -1895544775;
        m.op.src[1].op_params[11] = 240043086u;
        m.op.src[1].op_params[12] = -1919336349;
        m.op.src[1].op_params[13] = 216251512u;
        m.op.src[1].op_params[14] = -1943127923;
        m.op.src[1].op_params[15] = 192459938u;
        m.op.src[1].flags = -1966919497;
        m.op.src[1].src[0] = 17339571392677260492ull;
        m.op.src[1].src[1] = 10293542138290907361ull;
        m.op.src[1].src[2] = 3247512883904554230ull;
        m.op.src[1].src[3] = 14648227703227752715ull;
        m.op.src[1].src[4] = 7602198448841399584ull;
        m.op.src[1].src[5] = 556169194455046453ull;
        m.op.src[1].src[6] = 11956884013778244938ull;
        m.op.src[1].src[7] = 4910854759391891807ull;
        m.op.src[1].src[8] = 16311569578715090292ull;
        m.op.src[1].src[9] = 9265540324328737161ull;
        m.op.src[1].view_src = 2219511069942384030ull;
        m.op.src[1].view_offs = 13620225889265582515ull;
        m.op.src[1].data = 6574196634879229384ull;
        std::strcpy(m.op.src[1].name, "name 542");
        m.op.src[1].extra = 10928882199816074738ull;
        visit("device_supports_op_request", m, "d617157a0000000001000000000000000010aa78465bd486158cf4f7ffd40b252a083f77b94e43c33f8489f672c87a615400d4752c42b2ff697c1ef5e5bbe99d7ef868749f35213c9374b3f358af58daa8f0fd72bd6c48f2d2e89271e764ddf0fce02770115d72ef26d9bc6e3b5507ee50d1516d654d9cec7ac9e66b8f4531eba4c17b6ab93dc6e9ceb91069e3355be8f8b1a5670d2ef0e60300000000000000040000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000020000000000000009ff6dde15f3d8641e7bb85dcf6c10036e616d6520343132000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000048734d5c42607f3f00000000000000005def97dbfbd9b6dd726be25a0000000087e72cda6ecd251a9c63775928475db8b1dfc1d8e1c09456c65b0c589b3accf4dbd756d754b40393f053a1560e2e3b3105d0ebd5c7a772cf1a4c36558121aa6d2fc880d43a9be10b4444cb5359c015d36e3c605283b8aad19834f550adb03fd0c22c8a4fd7a8d4ceec241f4e01a169cd161db44c2b99fecb4015494b559193ca6a0dde497f8928c994057348a981bdc7befd0747ffa3ffc9d37952c6b81d3768e8f59c4572976e06fd71e7c42b11a6a412ee3144e58add42276a7cc39e0415e13ce6c642587e4c7f516211c211f8831d66de5b41cb71bbbb7b5aa6c084ebf25990d6f03f3e652af8a5523bbff7de6196bace853eb15899346e616d65203435360000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000e4c61a3d244c08710000000000000000f94265bc000000000ebfaf3b973f77ad233bfaba50b9ae4b38b7443a0a33e6e94d338fb9c3ac1d8862afd9387d265526772b24b836a08cc48ca76e37f019c462a123b9b6a993fb00b69f0336630d339fcb1b4eb5e0979834f513e3b30a902d331f0c78b23488c23149040db15e80573073fca1af8878ec2e9df436aeb270812dc7eccbacdc68162cf1e460ab0661ab2a1bddf5a93059402945d58aa82716515d5a51d527e18f88fb6fcd1fa79a09c09984496a265483f73799c5b4a50dfd2ed6ae41ff24c7766674c3bd49a480f09d12d83994233a6ad5b0edb5dea2f3e30c4f02322922ad5d44ed17ae73a166d77b8b2c2abe202051b32941a608a0d9caeac76e616d652034393900000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000006b9e9d9e4cbe59040000000000000000801ae81d000000009596329dbfb1c840aa127d1c792b00dfbf8ec79b32a5377dd40a121bec1e6f1be9865c9aa598a6b9fe02a7195f12de57137ff198188c15f628fb3b18d2054d943d7786978b7f843252f3d016676f1b967ceb65159167b094a6e3fa13bb5f4593d0db8f12e557da91fad324110f506f9024ccb90f3948048f4ec44e0e6340998d78bce30c8d382e8ca2b4780bb730c38accac0d0a5088a2f0e12858890902da8ef6a4a208c37b112d0b21ed877cf548cb209d3707366f806935198286efe8b7074a95cc05a962efa55f11178562dc2644748d61041c565ee28909ac83d5cf95809e85f6028f49cd1eb301418248c304bdc87d8b01023d3c5b6e616d65203534320000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000f27520007530ab970000000000000000");
    }
    {
        DeviceSupportsOpReply m;
        m.supported = false;
        visit("device_supports_op_reply", m, "00000000");
    }
    {
        DeviceGetBufferTypeRequest m;
        visit("device_get_buffer_type_request", m, "");
    }
    {
        DeviceGetBufferTypeReply m;
        m.buft = 15283567764752920092ull;
        visit("device_get_buffer_type_reply", m, "1c6eb5fee7231ad4");
    }
    {
        DeviceGetPropsRequest m;
        visit("device_get_props_request", m, "");
    }
    {
        DeviceGetPropsReply m;
        m.asynchronous = false;
        m.host_buffer = true;
        m.buffer_from_host_ptr = false;
        m.events = true;
        m.mmap_support = false;
        visit("device_get_props_reply", m, "0000000001000000000000000100000000000000");
    }
    {
        DeviceBufferFromPtrRequest m;
        m.resource = 4201928346u;
        m.size = 2854851131467551407ull;
        m.max_tensor_size = 14255565950790749892ull;
        visit("device_buffer_from_ptr_request", m, "9a5674faafd2be79fa779e27c44e09f9b3f1d5c5");
    }
    {
        DeviceBufferFromPtrReply m;
        m.buffer = 7209536696404396761ull;
        m.buft = 163507442018043630ull;
        visit("device_buffer_from_ptr_reply", m, "d9ca53786d6b0d64ee469ef726e54402");
    }
    {
        BufferTypeGetNameRequest m;
        m.buft = 11564222261341242115ull;
        visit("buffer_type_get_name_request", m, "03c3e876e05e7ca0");
    }
    {
        BufferTypeGetNameReply m;
        m.name = "text 557";
        visit("buffer_type_get_name_reply", m, "0900000000000000746578742035353700000000");
    }
    {
        BufferTypeGetAlignmentRequest m;
        m.buft = 15918907826278087469ull;
        visit("buffer_type_get_alignment_request", m, "2dbb7d755352ebdc");
    }
    {
        BufferTypeGetAlignmentReply m;
        m.alignment = 8872878571891734338ull;
        visit("buffer_type_get_alignment_reply", m, "4237c8f40ccc227b");
    }
    {
        BufferTypeGetMaxSizeRequest m;
        m.buft = 1826849317505381207ull;
        visit("buffer_type_get_max_size_request", m, "57b31274c6455a19");
    }
    {
        BufferTypeGetMaxSizeReply m;
        m.max_size = 13227564136828579692ull;
        visit("buffer_type_get_max_size_reply", m, "6c2f5df37fbf91b7");
    }
    {
        BufferTypeIsHostRequest m;
        m.buft = 6181534882442226561ull;
        visit("buffer_type_is_host_request", m, "81aba7723939c955");
    }
    {
        BufferTypeIsHostReply m;
        m.is_host = true;
        visit("buffer_type_is_host_reply", m, "01000000");
    }
    {
        BufferTypeAllocBufferRequest m;
        m.buft = 10536220447379071915ull;
        m.size = 3490191192992718784ull;
        visit("buffer_type_alloc_buffer_request", m, "aba33c71ac2c3892c01f87f065a66f30");
    }
    {
        BufferTypeAllocBufferReply m;
        m.buffer = 14890906012315917269ull;
        visit("buffer_type_alloc_buffer_reply", m, "d59bd16f1f20a7ce");
    }
    {
        BufferTypeGetAllocSizeRequest m;
        m.buft = 7844876757929564138ull;
        m.op.tensor.type = 1852216319u;
        m.op.tensor.buffer = 1u;
        m.op.tensor.ne[0] = 5153533068480056361ull;
        m.op.tensor.ne[1] = -1892496185906296770ll;
        m.op.tensor.ne[2] = -8938525440292649901ll;
        m.op.tensor.ne[3] = 2462189379030548584ull;
        m.op.tensor.nb[0] = 13862904198353747069ull;
        m.op.tensor.nb[1] = 6816874943967393938ull;
        m.op.tensor.nb[2] = 18217589763290592423ull;
        m.op.tensor.nb[3] = 11171560508904239292ull;
        m.op.tensor.op = 1733258449u;
        m.op.tensor.op_params[0] = -426120986;
        m.op.tensor.op_params[1] = 1709466875u;
        m.op.tensor.op_params[2] = -449912560;
        m.op.tensor.op_params[3] = 1685675301u;
        m.op.tensor.op_params[4] = -473704134;
        m.op.tensor.op_params[5] = 1661883727u;
        m.op.tensor.op_params[6] = -497495708;
        m.op.tensor.op_params[7] = 1638092153u;
        m.op.tensor.op_params[8] = -521287282;
        m.op.tensor.op_params[9] = 1614300579u;
        m.op.tensor.op_params[10] = -545078856;
        m.op.tensor.op_params[11] = 1590509005u;
        m.op.tensor.op_params[12] = -568870430;
        m.op.tensor.op_params[13] = 1566717431u;
        m.op.tensor.op_params[14] = -592662004;
        m.op.tensor.op_params[15] = 1542925857u;
        m.op.tensor.flags = -616453578;
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
        m.op.tensor.view_offs = 2704867688118713138ull;
        m.op.tensor.data = 14105582507441911623ull;
        std::strcpy(m.op.tensor.name, "name 609");
        m.op.tensor.extra = 13523998669205361ull;
        m.op.handle = 11414238817992403846ull;
        m.op.view_src.type = 1328801691u;
        m.op.view_src.buffer = 15768924382929249200ull;
        m.op.view_src.ne[0] = 8722895128542896069ull;
        m.op.view_src.ne[1] = 1676865874156542938ull;
        m.op.view_src.ne[2] = -5369163380229810193ll;
        m.op.view_src.ne[3] = 6031551439093388292ull;
        m.op.view_src.nb[0] = 17432266258416586777ull;
        m.op.view_src.nb[1] = 10386237004030233646ull;
        m.op.view_src.nb[2] = 3340207749643880515ull;
        m.op.view_src.nb[3] = 14740922568967079000ull;
        m.op.view_src.op = 1209843821u;
        m.op.view_src.op_params[0] = -949535614;
        m.op.view_src.op_params[1] = 1186052247u;
        m.op.view_src.op_params[2] = -973327188;
        m.op.view_src.op_params[3] = 1162260673u;
        m.op.view_src.op_params[4] = -997118762;
        m.op.view_src.op_params[5] = 1138469099u;
        m.op.view_src.op_params[6] = -1020910336;
        m.op.view_src.op_params[7] = 1114677525u;
        m.op.view_src.op_params[8] = -1044701910;
        m.op.view_src.op_params[9] = 1090885951u;
        m.op.view_src.op_params[10] = -1068493484;
        m.op.view_src.op_params[11] = 1067094377u;
        m.op.view_src.op_params[12] = -1092285058;
        m.op.view_src.op_params[13] = 1043302803u;
        m.op.view_src.op_params[14] = -1116076632;
        m.op.view_src.op_params[15] = 1019511229u;
        m.op.view_src.flags = -1139868206;
        m.op.view_src.src[0] = 9993575251593230823ull;
        m.op.view_src.src[1] = 2947545997206877692ull;
        m.op.view_src.src[2] = 14348260816530076177ull;
        m.op.view_src.src[3] = 7302231562143723046ull;
        m.op.view_src.src[4] = 256202307757369915ull;
        m.op.view_src.src[5] = 11656917127080568400ull;
        m.op.view_src.src[6] = 4610887872694215269ull;
        m.op.view_src.src[7] = 16011602692017413754ull;
        m.op.view_src.src[8] = 8965573437631060623ull;
        m.op.view_src.src[9] = 1919544183244707492ull;
        m.op.view_src.view_src = 13320259002567905977ull;
        m.op.view_src.view_offs = 6274229748181552846ull;
        m.op.view_src.data = 17674944567504751331ull;
        std::strcpy(m.op.view_src.name, "name 653");
        m.op.view_src.extra = 3582886058732045069ull;
        m.op.src[0].type = 2964766498u;
        m.op.src[0].buffer = 7937571623668890423ull;
        m.op.src[0].ne[0] = 891542369282537292ull;
        m.op.src[0].ne[1] = -6154486885103815839ll;
        m.op.src[0].ne[2] = 5246227934219382646ull;
        m.op.src[0].ne[3] = -1799801320166970485ll;
        m.op.src[0].nb[0] = 9600913499156228000ull;
        m.op.src[0].nb[1] = 2554884244769874869ull;
        m.op.src[0].nb[2] = 13955599064093073354ull;
        m.op.src[0].nb[3] = 6909569809706720223ull;
        m.op.src[0].op = 2845808628u;
        m.op.src[0].op_params[0] = 686429193u;
        m.op.src[0].op_params[1] = -1472950242;
        m.op.src[0].op_params[2] = 662637619u;
        m.op.src[0].op_params[3] = -1496741816;
        m.op.src[0].op_params[4] = 638846045u;
        m.op.src[0].op_params[5] = -1520533390;
        m.op.src[0].op_params[6] = 615054471u;
        m.op.src[0].op_params[7] = -1544324964;
        m.op.src[0].op_params[8] = 591262897u;
        m.op.src[0].op_params[9] = -1568116538;
        m.op.src[0].op_params[10] = 567471323u;
        m.op.src[0].op_params[11] = -1591908112;
        m.op.src[0].op_params[12] = 543679749u;
        m.op.src[0].op_params[13] = -1615699686;
        m.op.src[0].op_params[14] = 519888175u;
        m.op.src[0].op_params[15] = -1639491260;
        m.op.src[0].flags = 496096601u;
        m.op.src[0].src[0] = 2162222492332872046ull;
        m.op.src[0].src[1] = 13562937311656070531ull;
        m.op.src[0].src[2] = 6516908057269717400ull;
        m.op.src[0].src[3] = 17917622876592915885ull;
        m.op.src[0].src[4] = 10871593622206562754ull;
        m.op.src[0].src[5] = 3825564367820209623ull;
        m.op.src[0].src[6] = 15226279187143408108ull;
        m.op.src[0].src[7] = 8180249932757054977ull;
        m.op.src[0].src[8] = 1134220678370701846ull;
        m.op.src[0].src[9] = 12534935497693900331ull;
        m.op.src[0].view_src = 5488906243307547200ull;
        m.op.src[0].view_offs = 16889621062630745685ull;
        m.op.src[0].data = 9843591808244392554ull;
        std::strcpy(m.op.src[0].name, "name 696");
        m.op.src[0].extra = 14198277373181237908ull;
        m.op.src[1].type = 305764009u;
        m.op.src[1].buffer = 106218864408531646ull;
        m.op.src[1].ne[0] = -6939810389977821485ll;
        m.op.src[1].ne[1] = 4460904429345377000ull;
        m.op.src[1].ne[2] = -2585124825040976131ll;
        m.op.src[1].ne[3] = 8815589994282222354ull;
        m.op.src[1].nb[0] = 1769560739895869223ull;
        m.op.src[1].nb[1] = 13170275559219067708ull;
        m.op.src[1].nb[2] = 6124246304832714577ull;
        m.op.src[1].nb[3] = 17524961124155913062ull;
        m.op.src[1].op = 186806139u;
        m.op.src[1].op_params[0] = -1972573296;
        m.op.src[1].op_params[1] = 163014565u;
        m.op.src[1].op_params[2] = -1996364870;
        m.op.src[1].op_params[3] = 139222991u;
        m.op.src[1].op_params[4] = -2020156444;
        m.op.src[1].op_params[5] = 115431417u;
        m.op.src[1].op_params[6] = -2043948018;
        m.op.src[1].op_params[7] = 91639843u;
        m.op.src[1].op_params[8] = -2067739592;
        m.op.src[1].op_params[9] = 67848269u;
        m.op.src[1].op_params[10] = -2091531166;
        m.op.src[1].op_params[11] = 44056695u;
        m.op.src[1].op_params[12] = -2115322740;
        m.op.src[1].op_params[13] = 20265121u;
        m.op.src[1].op_params[14] = -2139114314;
        m.op.src[1].op_params[15] = -3526453;
        m.op.src[1].flags = 2132061408u;
        m.op.src[1].src[0] = 12777613806782064885ull;
        m.op.src[1].src[1] = 5731584552395711754ull;
        m.op.src[1].src[2] = 17132299371718910239ull;
        m.op.src[1].src[3] = 10086270117332557108ull;
        m.op.src[1].src[4] = 3040240862946203977ull;
        m.op.src[1].src[5] = 14440955682269402462ull;
        m.op.src[1].src[6] = 7394926427883049331ull;
        m.op.src[1].src[7] = 348897173496696200ull;
        m.op.src[1].src[8] = 11749611992819894685ull;
        m.op.src[1].src[9] = 4703582738433541554ull;
        m.op.src[1].view_src = 16104297557756740039ull;
        m.op.src[1].view_offs = 9058268303370386908ull;
        m.op.src[1].data = 2012239048984033777ull;
        std::strcpy(m.op.src[1].name, "name 739");
        m.op.src[1].extra = 6366924613920879131ull;
        visit("buffer_type_get_alloc_size_request", m, "ea171cefd899de6cff93666e000000000100000000000000298cfb6c050785473e0846ecbe80bce55384906b78faf3836800dbea31742b227d7c256aebed62c092f86fe9a4679a5ea774ba685ee1d1fcbcf004e8175b099bd16c4f67e6e899e6fb64e46510e12ee5255d79643ad9c3e34f550e6364d158e2794da3618ec9ede0a3453860b8c182dfcd3dcd5ee2b917def735625d0cb2acdc212ef75b36aa41db03000000000000000400000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000200000000000000327bbfd2d49e892547f709528e18c1c36e616d6520363039000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000071ef9e50010c30000000000000000000866be9cfba85679e9be7334f00000000b0637ece2d79d6dac5dfc84de7f20d79da5b13cda06c4517efd75d4c5ae67cb50454a8cb1360b45319d0f24acdd9ebf12e4c3dca8653239043c8874940cd5a2e5844d2c8f94692cc6dc01c48823c67c797b8b146ac34fcc5c1b04645d62c91c4eba8db43002526c315a170422a1dbbc13f990541541550c069919a3f7e0de5be93892f3ea8057abdbd81c43cd2fd0ebce779593bbe4fb08afcf5a3ba77c9e7281172ee3931431fc726ee38b9eabc56653b6a8338a4368e0350e6cdb75db0c5a165621837172afd3f7ade62b6d0a334de8f5aad358a1d6c7ca4d6f7b44397a31ab9524234fd10dbb8cece8cb3b68a1257e34ad73270044af56e616d652036353300000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000d436c31e3f7b831000000000000000022bfb6b000000000373b013056eb276e4cb74baf0f655f0c6133962ec9de96aa76afe0ad8258ce488b2b2b2d3cd205e7a0a775acf54b3d85b523c02bafc57423ca9f0aab683facc1df1b552a22b9e35ff4979fa90914ea281e9034a8330c7f274888c9a65d04142672805ea587fca8249c78f3a3b1f43d23c67088a2dbecd221f0681da105e567201a61b29f2fddfc1e4459479e59d5911d6e51dc9ce6c1011e83cd261ca03b39bc9849719b59b5705aadc5bb1a132fa8f8c241069acca8df96d7bd501986221735ec399b983f9c4ed301b6e517f915867116323097b28fbd0f2bae7a166c09f5ad402ac59525832c4c55a60f15dffc63ea6a225a9498769b886e616d65203639360000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000941aef920b6a0ac50000000000000000a996391200000000be1284917e5d7901d38ece1038d7b09fe80a1990f150e83dfd86630fabca1fdc1203ae8e6444577a277ff80d1ebe8e183cfb428dd737c6b651778d0c91b1fd5466f3d78b4a2b35f37b6f220b90eb6c8aa567b709bae30189cf5f4c08e4db9687f957e1060ed42b862350760538ccc0844d480b0462c455837740a0028cbcea81a1383501b6b47f80cb30caffe0ac147ff5285ffe0e3453b10aa5a97dc8ad8a4f1f21f4fc8127c2ed349d3e7c3ba1f98b491989fbf41a312a5e95d37aae9468c873111efa670ea066888d68792188d7049d09b3f8da010fa3b285fd77947b4641c70148f74df57ddfdc7d9276076fb57df1f9dcf5c0e8ec1b6e616d652037333900000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000001bf271f433dc5b580000000000000000");
    }
    {
        BufferTypeGetAllocSizeReply m;
        m.size = 17767639433244077616ull;
        visit("buffer_type_get_alloc_size_reply", m, "306ebc73ed5593f6");
    }
    {
        BufferGetBaseRequest m;
        m.buffer = 10721610178857724485ull;
        visit("buffer_get_base_request", m, "45ea06f3a6cfca94");
    }
    {
        BufferGetBaseReply m;
        m.base = 3675580924471371354ull;
        visit("buffer_get_base_reply", m, "5a66517260490233");
    }
    {
        BufferSetTensorRequest m;
        m.buffer = 15076295743794569839ull;
        m.tensor.id = 8030266489408216708ull;
        m.tensor.type = 4029733529u;
        m.tensor.buffer = 12384952054345062062ull;
        m.tensor.ne[0] = 4005941955u;
        m.tensor.ne[1] = 1846562520u;
        m.tensor.ne[2] = 3982150381u;
        m.tensor.ne[3] = 1822770946u;
        m.tensor.nb[0] = 3958358807u;
        m.tensor.nb[1] = 1798979372u;
        m.tensor.nb[2] = 3934567233u;
        m.tensor.nb[3] = 1775187798u;
        m.tensor.op = 3910775659u;
        m.tensor.op_params[0] = 1751396224u;
        m.tensor.op_params[1] = -407983211;
        m.tensor.op_params[2] = 1727604650u;
        m.tensor.op_params[3] = -431774785;
        m.tensor.op_params[4] = 1703813076u;
        m.tensor.op_params[5] = -455566359;
        m.tensor.op_params[6] = 1680021502u;
        m.tensor.op_params[7] = -479357933;
        m.tensor.op_params[8] = 1656229928u;
        m.tensor.op_params[9] = -503149507;
        m.tensor.op_params[10] = 1632438354u;
        m.tensor.op_params[11] = -526941081;
        m.tensor.op_params[12] = 1608646780u;
        m.tensor.op_params[13] = -550732655;
        m.tensor.op_params[14] = 1584855206u;
        m.tensor.op_params[15] = -574524229;
        m.tensor.flags = 1561063632u;
        m.tensor.src[0] = 6609602923009043685ull;
        m.tensor.src[1] = 18010317742332242170ull;
        m.tensor.src[2] = 10964288487945889039ull;
        m.tensor.src[3] = 3918259233559535908ull;
        m.tensor.src[4] = 15318974052882734393ull;
        m.tensor.src[5] = 8272944798496381262ull;
        m.tensor.src[6] = 1226915544110028131ull;
        m.tensor.src[7] = 12627630363433226616ull;
        m.tensor.src[8] = 5581601109046873485ull;
        m.tensor.src[9] = 16982315928370071970ull;
        m.tensor.view_src = 9936286673983718839ull;
        m.tensor.view_offs = 2890257419597365708ull;
        m.tensor.data = 14290972238920564193ull;
        std::strcpy(m.tensor.name, "name 787");
        m.resource = 3530110475u;
        m.offset = 11599628549471056416ull;
        m.size = 4553599295084703285ull;
        visit("buffer_set_tensor_request", m, "6fe29bf119c339d1845ee670d33c716f99da30f000000000ae567b6f4630e0abc3d2c5eed84e106eedca5aed0247a56c17c3efeb2c3f3a6b41bb84ea5637cf696bb319e9802f646895abaee7aa27f966bfa343e6d41f8e65e99bd8e4fe17236413946de32810b8623d8c02e252084d61678497e07c00e25f917c2cdfa6f8765ebb74c1ddd0f00b5de56c56dcd606ba5bfae8a05b9080f1f90f65ebda49fa289824e1355a03746036395d80d9bced97d44ed9ca587667cf72635515d82fe1061178d15f57e95a3eaf8d4daad6a2d4754da2c9f4555c4eadebb7453fd515c8e489ccc18954cf411c28e13dd4d388bb53c66e616d6520373837000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000b3669d220b2b351b528faa0352efed06ea2313f");
    }
    {
        BufferSetTensorReply m;
        visit("buffer_set_tensor_reply", m, "");
    }
    {
        BufferGetTensorRequest m;
        m.buffer = 15954314114407901770ull;
        m.tensor.id = 8908284860021548639ull;
        m.tensor.type = 1323147892u;
        m.tensor.buffer = 13262970424958393993ull;
        m.tensor.ne[0] = 1299356318u;
        m.tensor.ne[1] = 3434944179u;
        m.tensor.ne[2] = 1275564744u;
        m.tensor.ne[3] = 3411152605u;
        m.tensor.nb[0] = 1251773170u;
        m.tensor.nb[1] = 3387361031u;
        m.tensor.nb[2] = 1227981596u;
        m.tensor.nb[3] = 3363569457u;
        m.tensor.op = 1204190022u;
        m.tensor.op_params[0] = -955189413;
        m.tensor.op_params[1] = 1180398448u;
        m.tensor.op_params[2] = -978980987;
        m.tensor.op_params[3] = 1156606874u;
        m.tensor.op_params[4] = -1002772561;
        m.tensor.op_params[5] = 1132815300u;
        m.tensor.op_params[6] = -1026564135;
        m.tensor.op_params[7] = 1109023726u;
        m.tensor.op_params[8] = -1050355709;
        m.tensor.op_params[9] = 1085232152u;
        m.tensor.op_params[10] = -1074147283;
        m.tensor.op_params[11] = 1061440578u;
        m.tensor.op_params[12] = -1097938857;
        m.tensor.op_params[13] = 1037649004u;
        m.tensor.op_params[14] = -1121730431;
        m.tensor.op_params[15] = 1013857430u;
        m.tensor.flags = -1145522005;
        m.tensor.src[0] = 7487621293622375616ull;
        m.tensor.src[1] = 441592039236022485ull;
        m.tensor.src[2] = 11842306858559220970ull;
        m.tensor.src[3] = 4796277604172867839ull;
        m.tensor.src[4] = 16196992423496066324ull;
        m.tensor.src[5] = 9150963169109713193ull;
        m.tensor.src[6] = 2104933914723360062ull;
        m.tensor.src[7] = 13505648734046558547ull;
        m.tensor.src[8] = 6459619479660205416ull;
        m.tensor.src[9] = 17860334298983403901ull;
        m.tensor.view_src = 10814305044597050770ull;
        m.tensor.view_offs = 3768275790210697639ull;
        m.tensor.data = 15168990609533896124ull;
        std::strcpy(m.tensor.name, "name 834");
        m.resource = 823524838u;
        m.offset = 12477646920084388347ull;
        m.size = 5431617665698035216ull;
        visit("buffer_get_tensor_request", m, "4aaa4850281c69dd5f2693cfe195a07b74a2dd4e00000000891e28ce54890fb89e9a724db316bdccc892074cdd0e52cbf28a9c4a0707e7c91c83314931ff7bc8467bc6475bf710c770735b4685efa5c59a6bf044afe73ac4c4638543d9dfcfc2ee5b1a4203d864c11854af402dd0f9bf424c443f57c88ebe6c44d93d81c023bd963c6e3cabb8b8bbc034033be55fe967d5b04dba9ed92006ea2c9839585358a4ffa8e2b811cd8f4214252d38cb46c7e029a177b784c0fe7e3e1dc2363e3a361d53990cb6f7b36dbb68155735b12da5597d91a1b46aa7dcf7920dec3324211496a78936b3dd9a4b34bc058132971483d26e616d652038333400000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000e6fd1531fb7960b0c38129ad10f6aa2f7dfb604b");
    }
    {
        BufferGetTensorReply m;
        visit("buffer_get_tensor_reply", m, "");
    }
    {
        BufferCpyTensorRequest m;
        m.buffer = 16832332485021233701ull;
        m.source.id = 9786303230634880570ull;
        m.source.type = 2911529551u;
        m.source.buffer = 14140988795571725924ull;
        m.source.ne[0] = 2887737977u;
        m.source.ne[1] = 728358542u;
        m.source.ne[2] = 2863946403u;
        m.source.ne[3] = 704566968u;
        m.source.nb[0] = 2840154829u;
        m.source.nb[1] = 680775394u;
        m.source.nb[2] = 2816363255u;
        m.source.nb[3] = 656983820u;
        m.source.op = 2792571681u;
        m.source.op_params[0] = 633192246u;
        m.source.op_params[1] = -1526187189;
        m.source.op_params[2] = 609400672u;
        m.source.op_params[3] = -1549978763;
        m.source.op_params[4] = 585609098u;
        m.source.op_params[5] = -1573770337;
        m.source.op_params[6] = 561817524u;
        m.source.op_params[7] = -1597561911;
        m.source.op_params[8] = 538025950u;
        m.source.op_params[9] = -1621353485;
        m.source.op_params[10] = 514234376u;
        m.source.op_params[11] = -1645145059;
        m.source.op_params[12] = 490442802u;
        m.source.op_params[13] = -1668936633;
        m.source.op_params[14] = 466651228u;
        m.source.op_params[15] = -1692728207;
        m.source.flags = 442859654u;
        m.source.src[0] = 8365639664235707547ull;
        m.source.src[1] = 1319610409849354416ull;
        m.source.src[2] = 12720325229172552901ull;
        m.source.src[3] = 5674295974786199770ull;
        m.source.src[4] = 17075010794109398255ull;
        m.source.src[5] = 10028981539723045124ull;
        m.source.src[6] = 2982952285336691993ull;
        m.source.src[7] = 14383667104659890478ull;
        m.source.src[8] = 7337637850273537347ull;
        m.source.src[9] = 291608595887184216ull;
        m.source.view_src = 11692323415210382701ull;
        m.source.view_offs = 4646294160824029570ull;
        m.source.data = 16047008980147228055ull;
        std::strcpy(m.source.name, "name 881");
        m.destination.id = 1954950471374521793ull;
        m.destination.type = 252527062u;
        m.destination.buffer = 6309636036311367147ull;
        m.destination.ne[0] = 228735488u;
        m.destination.ne[1] = 2364323349u;
        m.destination.ne[2] = 204943914u;
        m.destination.ne[3] = 2340531775u;
        m.destination.nb[0] = 181152340u;
        m.destination.nb[1] = 2316740201u;
        m.destination.nb[2] = 157360766u;
        m.destination.nb[3] = 2292948627u;
        m.destination.op = 133569192u;
        m.destination.op_params[0] = -2025810243;
        m.destination.op_params[1] = 109777618u;
        m.destination.op_params[2] = -2049601817;
        m.destination.op_params[3] = 85986044u;
        m.destination.op_params[4] = -2073393391;
        m.destination.op_params[5] = 62194470u;
        m.destination.op_params[6] = -2097184965;
        m.destination.op_params[7] = 38402896u;
        m.destination.op_params[8] = -2120976539;
        m.destination.op_params[9] = 14611322u;
        m.destination.op_params[10] = -2144768113;
        m.destination.op_params[11] = -9180252;
        m.destination.op_params[12] = 2126407609u;
        m.destination.op_params[13] = -32971826;
        m.destination.op_params[14] = 2102616035u;
        m.destination.op_params[15] = -56763400;
        m.destination.flags = 2078824461u;
        m.destination.src[0] = 534286904975348770ull;
        m.destination.src[1] = 11935001724298547255ull;
        m.destination.src[2] = 4888972469912194124ull;
        m.destination.src[3] = 16289687289235392609ull;
        m.destination.src[4] = 9243658034849039478ull;
        m.destination.src[5] = 2197628780462686347ull;
        m.destination.src[6] = 13598343599785884832ull;
        m.destination.src[7] = 6552314345399531701ull;
        m.destination.src[8] = 17953029164722730186ull;
        m.destination.src[9] = 10906999910336377055ull;
        m.destination.view_src = 3860970655950023924ull;
        m.destination.view_offs = 15261685475273222409ull;
        m.destination.data = 8215656220886869278ull;
        std::strcpy(m.destination.name, "name 924");
        visit("buffer_cpy_tensor_request", m, "2572f5ae367598e93aee3f2ef0eecf874f6a8aad0000000064e6d42c63e23ec479621fac8ede692ba35ab4aab8d6fe29cd5249a9e2ce9328f74adea70cc72827214373a636bfbd254b3b08a560b7522475339da38aafe7229f2b32a2b4a77c21c923c7a0de9f1120f31b5c9f0898a61e1d14f19d32903b1d470c869c5c88d01b71041b9b8680651a9bfcaf99f3b81874b078fa18ad325012c5f4449866ac87b0da708f172026bf4eefecd996d99ff6ec0469241693192e8b19e56e954c9365292e61b914060d9dc743dd0394bf86d46558594e1379000c046dd59892327a43a28251e311ecf37a4097cd2d91a56db2de6e616d652038383100000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000c1c5c28f1861211bd6410d0f00000000ebbd578e8b549057003aa20d15b6ec8c2a32370c3fae818b542acc0a69a6168a7e226109939eab88a81af607bd964087d2128b06e78ed585fc0a200511876a842603b5033b7fff8250fb4902657794817af3de008f6f2980a4eb73ffb967be7ecee308fee35f537df8db9dfc0d58e87b22d432fb1b2b6a0737507d7ad5a4a1a54cccc7f98e1ed94361481279489810e276c45cf8011248808b40a777bb8b7f1ea0bcf1f67405b7bcb5383c762e7fee5acab486f5e7f825f9df30d174a1725d97f4ac1bf45aec9435092966731466ccd31ea5b0f2cddf03726e616d652039323400000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000");
    }
    {
        BufferCpyTensorReply m;
        m.copied = true;
        visit("buffer_cpy_tensor_reply", m, "01000000");
    }
    {
        BufferClearRequest m;
        m.buffer = 5524312531437361501ull;
        m.value = 114u;
        visit("buffer_clear_request", m, "5d199070fa4caa4c72000000");
    }
    {
        BufferClearReply m;
        visit("buffer_clear_reply", m, "");
    }
    {
        BufferFreeBufferRequest m;
        m.buffer = 9878998096374206855ull;
        visit("buffer_free_buffer_request", m, "8711256f6d401989");
    }
    {
        BufferFreeBufferReply m;
        visit("buffer_free_buffer_reply", m, "");
    }
    {
        BackendGraphComputeRequest m;
        m.resource = 4000288156u;
        m.size = 14233683661311052209ull;
        visit("backend_graph_compute_request", m, "9c8d6feeb109ba6de03388c5");
    }
    {
        BackendGraphComputeReply m;
        m.status = -318470714;
        visit("backend_graph_compute_reply", m, "c68504ed");
    }
    {
        NegotiateRequest m;
        m.version = 1817117147u;
        m.offered = 11542339971861544432ull;
        m.session = 4496310717475191301ull;
        visit("negotiate_request", m, "db014f6cf07d99eb0ca12ea005fae36ac61a663e");
    }
    {
        NegotiateReply m;
        m.accepted = 15897025536798389786ull;
        visit("negotiate_reply", m, "1a762eea7f949ddc");
    }
    {
        OnDeviceRequest m;
        m.device = 1769533999u;
        m.call = 3905121860u;
        visit("on_device_request", m, "2ff27869446ec3e8");
    }
    {
        OnDeviceReply m;
        visit("on_device_reply", m, "");
    }
    {
        WideSupportsOpRequest m;
        m.tensors.resize(2);
        m.tensors[0].id = 13205681847348882009ull;
        m.tensors[0].type = 3881330286u;
        m.tensors[0].op = 1721950851u;
        m.tensors[0].buffer = 10514338157899374232ull;
        m.tensors[0].ne[0] = 3468308903513021101ull;
        m.tensors[0].ne[1] = -3577720350873332030ll;
        m.tensors[0].ne[2] = 7822994468449866455ull;
        m.tensors[0].ne[3] = 776965214063513324ull;
        m.tensors[0].nb[0] = 12177680033386711809ull;
        m.tensors[0].nb[1] = 5131650779000358678ull;
        m.tensors[0].nb[2] = 16532365598323557163ull;
        m.tensors[0].nb[3] = 9486336343937204032ull;
        m.tensors[0].op_params[0] = 1602992981u;
        m.tensors[0].op_params[1] = -556386454;
        m.tensors[0].op_params[2] = 1579201407u;
        m.tensors[0].op_params[3] = -580178028;
        m.tensors[0].op_params[4] = 1555409833u;
        m.tensors[0].op_params[5] = -603969602;
        m.tensors[0].op_params[6] = 1531618259u;
        m.tensors[0].op_params[7] = -627761176;
        m.tensors[0].op_params[8] = 1507826685u;
        m.tensors[0].op_params[9] = -651552750;
        m.tensors[0].op_params[10] = 1484035111u;
        m.tensors[0].op_params[11] = -675344324;
        m.tensors[0].op_params[12] = 1460243537u;
        m.tensors[0].op_params[13] = -699135898;
        m.tensors[0].op_params[14] = 1436451963u;
        m.tensors[0].op_params[15] = -722927472;
        m.tensors[0].flags = 1412660389u;
        m.tensors[0].src[0] = 11785018280949708986ull;
        m.tensors[0].src[1] = 4738989026563355855ull;
        m.tensors[0].src[2] = 16139703845886554340ull;
        m.tensors[0].src[3] = 9093674591500201209ull;
        m.tensors[0].src[4] = 2047645337113848078ull;
        m.tensors[0].src[5] = 13448360156437046563ull;
        m.tensors[0].src[6] = 6402330902050693432ull;
        m.tensors[0].src[7] = 17803045721373891917ull;
        m.tensors[0].src[8] = 10757016466987538786ull;
        m.tensors[0].src[9] = 3710987212601185655ull;
        m.tensors[0].view_src = 15111702031924384140ull;
        m.tensors[0].view_offs = 8065672777538031009ull;
        m.tensors[0].data = 1019643523151677878ull;
        std::strcpy(m.tensors[0].name, "name 980");
        m.tensors[1].id = 5374329088088523232ull;
        m.tensors[1].type = 1222327797u;
        m.tensors[1].op = 3357915658u;
        m.tensors[1].buffer = 2682985398639015455ull;
        m.tensors[1].ne[0] = -4363043855747337676ll;
        m.tensors[1].ne[1] = 7037670963575860809ull;
        m.tensors[1].ne[2] = -8358290810492322ll;
        m.tensors[1].ne[3] = -7054387545196845453ll;
        m.tensors[1].nb[0] = 4346327274126353032ull;
        m.tensors[1].nb[1] = 15747042093449551517ull;
        m.tensors[1].nb[2] = 8701012839063198386ull;
        m.tensors[1].nb[3] = 1654983584676845255ull;
        m.tensors[1].op_params[0] = -1056009508;
        m.tensors[1].op_params[1] = 1079578353u;
        m.tensors[1].op_params[2] = -1079801082;
        m.tensors[1].op_params[3] = 1055786779u;
        m.tensors[1].op_params[4] = -1103592656;
        m.tensors[1].op_params[5] = 1031995205u;
        m.tensors[1].op_params[6] = -1127384230;
        m.tensors[1].op_params[7] = 1008203631u;
        m.tensors[1].op_params[8] = -1151175804;
        m.tensors[1].op_params[9] = 984412057u;
        m.tensors[1].op_params[10] = -1174967378;
        m.tensors[1].op_params[11] = 960620483u;
        m.tensors[1].op_params[12] = -1198758952;
        m.tensors[1].op_params[13] = 936828909u;
        m.tensors[1].op_params[14] = -1222550526;
        m.tensors[1].op_params[15] = 913037335u;
        m.tensors[1].flags = -1246342100;
        m.tensors[1].src[0] = 3953665521689350209ull;
        m.tensors[1].src[1] = 15354380341012548694ull;
        m.tensors[1].src[2] = 8308351086626195563ull;
        m.tensors[1].src[3] = 1262321832239842432ull;
        m.tensors[1].src[4] = 12663036651563040917ull;
        m.tensors[1].src[5] = 5617007397176687786ull;
        m.tensors[1].src[6] = 17017722216499886271ull;
        m.tensors[1].src[7] = 9971692962113533140ull;
        m.tensors[1].src[8] = 2925663707727180009ull;
        m.tensors[1].src[9] = 14326378527050378494ull;
        m.tensors[1].view_src = 7280349272664025363ull;
        m.tensors[1].view_offs = 234320018277672232ull;
        m.tensors[1].data = 11635034837600870717ull;
        std::strcpy(m.tensors[1].name, "name 1023");
        visit("wide_supports_op_request", m, "0200000059ea0d68ac0144b76e6658e783e2a266985eede5d86eea91adda376592e82130c25682e44b6259ced7d2cc6305dc906cec4e17e3be55c80a01cb616278cfffa81647ace1314937472bc3f660ebc26ee5403f41e0a43ca68355bb8b5f6a37d6de7fb3205e942f6bdda9abb55cbe2700dcd3a34a5be81f95dafd9bdf5912182ad9279474583c10bfd7518c0957660854d67b849e559000e9d4a57c335400000000baf87dd3afcb8ca3cf74c8526945c441e4f012d222bffbdff96c5d51dc38337e0ee9a7d095b26a1c2365f24f4f2ca2ba38e13ccf08a6d9584d5d874ec21f11f762d9d1cd7b99489577551c4d351380338cd166ccee8cb7d1a14db14ba806ef6fb6c9fbca6180260e6e616d65203938300000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000e0c190c9d473954af53ddb480aba25c81f36704701e13b2534b2bac6ba5a73c3492e054674d4aa615eaa4fc52d4ee2ff73269a44e7c7199e88a2e4c3a041513c9d1e2f435abb88dab29a79c21335c078c716c441cdaef716dc920ec1f10e5940068ba3bf1b07ee3e308338be45ff823d5a7bcdbc6ff7173c847362bb99efac3aae6bf7b9c3e74139d8638cb8eddfd637025c21b717d86b362c54b6b50000000041d00035d83dde36564c4bb491b715d56bc895334b314d738044e0b204ab841195c02a32be24bcafaa3c75b1779ef34dbfb8bf3031182becd4340ab0ea91628ae9b0542fa40b9a28fe2c9fae5d85d1c613a9e92d17ff0865282534add07840033da17e2c8af277a16e616d65203130323300000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000");
    }
    {
        WideSupportsOpReply m;
        m.supported = false;
        visit("wide_supports_op_reply", m, "00000000");
    }
    {
        WideGetAllocSizeRequest m;
        m.buft = 8943691148151362940ull;
        m.tensors.resize(2);
        m.tensors[0].id = 1897661893765009809ull;
        m.tensors[0].type = 2834501030u;
        m.tensors[0].op = 675121595u;
        m.tensors[0].buffer = 17653062278025053648ull;
        m.tensors[0].ne[0] = -7839711050070851099ll;
        m.tensors[0].ne[1] = 3561003769252347386ull;
        m.tensors[0].ne[2] = -3485025485134005745ll;
        m.tensors[0].ne[3] = 7915689334189192740ull;
        m.tensors[0].nb[0] = 869660079802839609ull;
        m.tensors[0].nb[1] = 12270374899126038094ull;
        m.tensors[0].nb[2] = 5224345644739684963ull;
        m.tensors[0].nb[3] = 16625060464062883448ull;
        m.tensors[0].op_params[0] = 556163725u;
        m.tensors[0].op_params[1] = -1603215710;
        m.tensors[0].op_params[2] = 532372151u;
        m.tensors[0].op_params[3] = -1627007284;
        m.tensors[0].op_params[4] = 508580577u;
        m.tensors[0].op_params[5] = -1650798858;
        m.tensors[0].op_params[6] = 484789003u;
        m.tensors[0].op_params[7] = -1674590432;
        m.tensors[0].op_params[8] = 460997429u;
        m.tensors[0].op_params[9] = -1698382006;
        m.tensors[0].op_params[10] = 437205855u;
        m.tensors[0].op_params[11] = -1722173580;
        m.tensors[0].op_params[12] = 413414281u;
        m.tensors[0].op_params[13] = -1745965154;
        m.tensors[0].op_params[14] = 389622707u;
        m.tensors[0].op_params[15] = -1769756728;
        m.tensors[0].flags = 365831133u;
        m.tensors[0].src[0] = 476998327365836786ull;
        m.tensors[0].src[1] = 11877713146689035271ull;
        m.tensors[0].src[2] = 4831683892302682140ull;
        m.tensors[0].src[3] = 16232398711625880625ull;
        m.tensors[0].src[4] = 9186369457239527494ull;
        m.tensors[0].src[5] = 2140340202853174363ull;
        m.tensors[0].src[6] = 13541055022176372848ull;
        m.tensors[0].src[7] = 6495025767790019717ull;
        m.tensors[0].src[8] = 17895740587113218202ull;
        m.tensors[0].src[9] = 10849711332726865071ull;
        m.tensors[0].view_src = 3803682078340511940ull;
        m.tensors[0].view_offs = 15204396897663710425ull;
        m.tensors[0].data = 8158367643277357294ull;
        std::strcpy(m.tensors[0].name, "name 1068");
        m.tensors[1].id = 12513053208214202648ull;
        m.tensors[1].type = 175498541u;
        m.tensors[1].op = 2311086402u;
        m.tensors[1].buffer = 9821709518764694871ull;
        m.tensors[1].ne[0] = 2775680264378341740ull;
        m.tensors[1].ne[1] = -4270348990008011391ll;
        m.tensors[1].ne[2] = 7130365829315187094ull;
        m.tensors[1].ne[3] = 84336574928833963ull;
        m.tensors[1].nb[0] = 11485051394252032448ull;
        m.tensors[1].nb[1] = 4439022139865679317ull;
        m.tensors[1].nb[2] = 15839736959188877802ull;
        m.tensors[1].nb[3] = 8793707704802524671ull;
        m.tensors[1].op_params[0] = -2102838764;
        m.tensors[1].op_params[1] = 32749097u;
        m.tensors[1].op_params[2] = -2126630338;
        m.tensors[1].op_params[3] = 8957523u;
        m.tensors[1].op_params[4] = 2144545384u;
        m.tensors[1].op_params[5] = -14834051;
        m.tensors[1].op_params[6] = 2120753810u;
        m.tensors[1].op_params[7] = -38625625;
        m.tensors[1].op_params[8] = 2096962236u;
        m.tensors[1].op_params[9] = -62417199;
        m.tensors[1].op_params[10] = 2073170662u;
        m.tensors[1].op_params[11] = -86208773;
        m.tensors[1].op_params[12] = 2049379088u;
        m.tensors[1].op_params[13] = -110000347;
        m.tensors[1].op_params[14] = 2025587514u;
        m.tensors[1].op_params[15] = -133791921;
        m.tensors[1].flags = 2001795940u;
        m.tensors[1].src[0] = 11092389641815029625ull;
        m.tensors[1].src[1] = 4046360387428676494ull;
        m.tensors[1].src[2] = 15447075206751874979ull;
        m.tensors[1].src[3] = 8401045952365521848ull;
        m.tensors[1].src[4] = 1355016697979168717ull;
        m.tensors[1].src[5] = 12755731517302367202ull;
        m.tensors[1].src[6] = 5709702262916014071ull;
        m.tensors[1].src[7] = 17110417082239212556ull;
        m.tensors[1].src[8] = 10064387827852859425ull;
        m.tensors[1].src[9] = 3018358573466506294ull;
        m.tensors[1].view_src = 14419073392789704779ull;
        m.tensors[1].view_offs = 7373044138403351648ull;
        m.tensors[1].data = 327014884016998517ull;
        std::strcpy(m.tensors[1].name, "name 1111");
        visit("wide_get_alloc_size_request", m, "7c155eaab65f1e7c020000009191a82970d9551aa60df3a8bb893d28d00588a79c46fcf4e581d22656c03393fafd1ca60f3a6b310f7a6725c9b3a2cf24f6b1a4822dda6d3972fc233ca7110c4eee46a3f52049aa636a9122af9a804878e6dba16814b8e68d622621a2de70a0b75abb1fccd6059fe152501ef6ce9a9d0b4be51c20c72f9c35437a1b4abfc49a5f3b0f1a74b759998933a4189eafee97b32b3917c8a78396dd23ce1500000000f29f189573a39e06071c63142d1dd6a41c98ad93e6960d433114f812a01045e146904292598a7c7f5b0c8d111304b41d7088d790cc7debbb8504221086f7225a9a806c8f3f715af8affcb60ef9ea9196c478018eb264c934d9f44b0d6cde00d3ee70968c255838716e616d6520313036380000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000018692b8b984ba7ad2de5750a4261c08957dd0a09c5b84d886c5955887e32852681d59f0738acbcc49651ea86f125f462abcd3406ab9f2b01c0497f856419639fd5c5c9041e939a3dea411484d70cd2dbffbd5e039186097a143aa98229b6f3013e323e8153ae8800682ad37f7da61dff9222687ea79eb2fdbc1afd7cd19647fce612927bfb8edcfa100b277a258771f93a03bc784f7f06f864fb50770000000079779bf69b15f0998ef3e575558f2738a36f30f50e095fd6b8eb7a74c8829674cd67c5f381fccd12e2e30f733b7605b1f75f5af2f4ef3c4f0cdca471ae6974ed2158eff067e3ab8b36d43970215de3294b5084efdad61ac860ccce6e94505266754819ee4dca89046e616d65203131313100000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000");
    }
    {
        WideGetAllocSizeReply m;
        m.size = 4681700448953843871ull;
        visit("wide_get_alloc_size_reply", m, "9f40aeecc0bdf840");
    }
    {
        WideSetTensorRequest m;
        m.buffer = 16082415268277042356ull;
        m.tensor.id = 9036386013890689225ull;
        m.tensor.type = 1787671774u;
        m.tensor.op = 3923259635u;
        m.tensor.buffer = 6345042324441181448ull;
        m.tensor.ne[0] = -700986929945171683ll;
        m.tensor.ne[1] = -7747016184331524814ll;
        m.tensor.ne[2] = 3653698634991673671ull;
        m.tensor.ne[3] = -3392330619394679460ll;
        m.tensor.nb[0] = 8008384199928519025ull;
        m.tensor.nb[1] = 962354945542165894ull;
        m.tensor.nb[2] = 12363069764865364379ull;
        m.tensor.nb[3] = 5317040510479011248ull;
        m.tensor.op_params[0] = -490665531;
        m.tensor.op_params[1] = 1644922330u;
        m.tensor.op_params[2] = -514457105;
        m.tensor.op_params[3] = 1621130756u;
        m.tensor.op_params[4] = -538248679;
        m.tensor.op_params[5] = 1597339182u;
        m.tensor.op_params[6] = -562040253;
        m.tensor.op_params[7] = 1573547608u;
        m.tensor.op_params[8] = -585831827;
        m.tensor.op_params[9] = 1549756034u;
        m.tensor.op_params[10] = -609623401;
        m.tensor.op_params[11] = 1525964460u;
        m.tensor.op_params[12] = -633414975;
        m.tensor.op_params[13] = 1502172886u;
        m.tensor.op_params[14] = -657206549;
        m.tensor.op_params[15] = 1478381312u;
        m.tensor.flags = -680998123;
        m.tensor.src[0] = 7615722447491516202ull;
        m.tensor.src[1] = 569693193105163071ull;
        m.tensor.src[2] = 11970408012428361556ull;
        m.tensor.src[3] = 4924378758042008425ull;
        m.tensor.src[4] = 16325093577365206910ull;
        m.tensor.src[5] = 9279064322978853779ull;
        m.tensor.src[6] = 2233035068592500648ull;
        m.tensor.src[7] = 13633749887915699133ull;
        m.tensor.src[8] = 6587720633529346002ull;
        m.tensor.src[9] = 17988435452852544487ull;
        m.tensor.view_src = 10942406198466191356ull;
        m.tensor.view_offs = 3896376944079838225ull;
        m.tensor.data = 15297091763403036710ull;
        std::strcpy(m.tensor.name, "name 1156");
        m.resource = 1288048720u;
        m.offset = 12605748073953528933ull;
        m.size = 5559718819567175802ull;
        visit("wide_set_tensor_request", m, "b4bcf86b7a3730dfc93843eb33b1677ddeb48d6af330d8e908ad2269601e0e581d296de8199845f632a5b767d3117d94472102e78c8bb4325c9d4c664605ecd0711997e5ff7e236f8695e164b9f85a0d9b112ce4727292abb08d76632cecc949c509c1e2da850b62ef0156e1047ea06019faeadf2e76355f43f27fde586eca5d6dea14dd82665f5c97e2a9dbac5ef45ac1da3edad6568959ebd2d3d8004f1e5815cb68d7000000002a47b356377bb0693fc3fdd5f0f4e707543f4855aa6e1fa669bb92d463e856447e37dd531d628ee293b327d3d6dbc580a82f72529055fd1ebdabbcd149cf34bdd227075103496c5be7a351d0bcc2a3f9fc1f9c4f763cdb97119ce6ce2fb612362618314ee92f4ad46e616d652031313536000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000005010c64c658c10cc159df0ae7a085b4bcf16284d");
    }
    {
        WideSetTensorReply m;
        visit("wide_set_tensor_reply", m, "");
    }
    {
        WideGetTensorRequest m;
        m.buffer = 16960433638890374287ull;
        m.tensor.id = 9914404384504021156ull;
        m.tensor.type = 3376053433u;
        m.tensor.op = 1216673998u;
        m.tensor.buffer = 7223060695054513379ull;
        m.tensor.ne[0] = 177031440668160248ull;
        m.tensor.ne[1] = -6868997813718192883ll;
        m.tensor.ne[2] = 4531717005605005602ull;
        m.tensor.ne[3] = -2514312248781347529ll;
        m.tensor.nb[0] = 8886402570541850956ull;
        m.tensor.nb[1] = 1840373316155497825ull;
        m.tensor.nb[2] = 13241088135478696310ull;
        m.tensor.nb[3] = 6195058881092343179ull;
        m.tensor.op_params[0] = 1097716128u;
        m.tensor.op_params[1] = -1061663307;
        m.tensor.op_params[2] = 1073924554u;
        m.tensor.op_params[3] = -1085454881;
        m.tensor.op_params[4] = 1050132980u;
        m.tensor.op_params[5] = -1109246455;
        m.tensor.op_params[6] = 1026341406u;
        m.tensor.op_params[7] = -1133038029;
        m.tensor.op_params[8] = 1002549832u;
        m.tensor.op_params[9] = -1156829603;
        m.tensor.op_params[10] = 978758258u;
        m.tensor.op_params[11] = -1180621177;
        m.tensor.op_params[12] = 954966684u;
        m.tensor.op_params[13] = -1204412751;
        m.tensor.op_params[14] = 931175110u;
        m.tensor.op_params[15] = -1228204325;
        m.tensor.flags = 907383536u;
        m.tensor.src[0] = 8493740818104848133ull;
        m.tensor.src[1] = 1447711563718495002ull;
        m.tensor.src[2] = 12848426383041693487ull;
        m.tensor.src[3] = 5802397128655340356ull;
        m.tensor.src[4] = 17203111947978538841ull;
        m.tensor.src[5] = 10157082693592185710ull;
        m.tensor.src[6] = 3111053439205832579ull;
        m.tensor.src[7] = 14511768258529031064ull;
        m.tensor.src[8] = 7465739004142677933ull;
        m.tensor.src[9] = 419709749756324802ull;
        m.tensor.view_src = 11820424569079523287ull;
        m.tensor.view_offs = 4774395314693170156ull;
        m.tensor.data = 16175110134016368641ull;
        std::strcpy(m.tensor.name, "name 1203");
        m.resource = 2876430379u;
        m.offset = 13483766444566860864ull;
        m.size = 6437737190180507733ull;
        visit("wide_get_tensor_request", m, "8f84a5ca88905feba400f049420a9789b97c3ac9cef88448e374cfc76e773d64f8f0194728f174020d6d64c6e16aaca022e9ae459be4e33e3765f9c4545e1bdd4ce143440ed8527b615d8ec3c7518a1976d9d84281cbc1b78b5523c23a45f955a0d16d41b54db8c0cac90240df454dbff4c1973e093ee2bd1eba2c3d333677bc48b2c13b5d2e0cbb72aa563a8726a1b99ca2eb38b11e36b8c69a8037db16cbb6f092153600000000050f60b545d4df751a8baa34ff4d17142f07f5b3b8c74eb244833f337241865059ff89b22bbbbdee6e7bd431e534f58c83f71eb19eae2c2b98736930582864c9adefb3af11a29b67c26bfe2ecb1bd305d7e748ae84950aa4ec63932d3e0f424201e0ddacf78879e06e616d652031323033000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000002bd872ab4054bd2a24f61fbb55d007aadd6f5759");
    }
    {
        WideGetTensorReply m;
        visit("wide_get_tensor_reply", m, "");
    }
    {
        WideCpyTensorRequest m;
        m.buffer = 17838452009503706218ull;
        m.source.id = 10792422755117353087ull;
        m.source.type = 669467796u;
        m.source.op = 2805055657u;
        m.source.buffer = 8101079065667845310ull;
        m.source.ne[0] = 1055049811281492179ull;
        m.source.ne[1] = -5990979443104860952ll;
        m.source.ne[2] = 5409735376218337533ull;
        m.source.ne[3] = -1636293878168015598ll;
        m.source.nb[0] = 9764420941155182887ull;
        m.source.nb[1] = 2718391686768829756ull;
        m.source.nb[2] = 14119106506092028241ull;
        m.source.nb[3] = 7073077251705675110ull;
        m.source.op_params[0] = -1608869509;
        m.source.op_params[1] = 526718352u;
        m.source.op_params[2] = -1632661083;
        m.source.op_params[3] = 502926778u;
        m.source.op_params[4] = -1656452657;
        m.source.op_params[5] = 479135204u;
        m.source.op_params[6] = -1680244231;
        m.source.op_params[7] = 455343630u;
        m.source.op_params[8] = -1704035805;
        m.source.op_params[9] = 431552056u;
        m.source.op_params[10] = -1727827379;
        m.source.op_params[11] = 407760482u;
        m.source.op_params[12] = -1751618953;
        m.source.op_params[13] = 383968908u;
        m.source.op_params[14] = -1775410527;
        m.source.op_params[15] = 360177334u;
        m.source.flags = -1799202101;
        m.source.src[0] = 9371759188718180064ull;
        m.source.src[1] = 2325729934331826933ull;
        m.source.src[2] = 13726444753655025418ull;
        m.source.src[3] = 6680415499268672287ull;
        m.source.src[4] = 18081130318591870772ull;
        m.source.src[5] = 11035101064205517641ull;
        m.source.src[6] = 3989071809819164510ull;
        m.source.src[7] = 15389786629142362995ull;
        m.source.src[8] = 8343757374756009864ull;
        m.source.src[9] = 1297728120369656733ull;
        m.source.view_src = 12698442939692855218ull;
        m.source.view_offs = 5652413685306502087ull;
        m.source.data = 17053128504629700572ull;
        std::strcpy(m.source.name, "name 1250");
        m.destination.id = 2961069995856994310ull;
        m.destination.type = 2305432603u;
        m.destination.op = 146053168u;
        m.destination.buffer = 269726306407486533ull;
        m.destination.ne[0] = -6776302947978866598ll;
        m.destination.ne[1] = 4624411871344331887ull;
        m.destination.ne[2] = -2421617383042021244ll;
        m.destination.ne[3] = 8979097436281177241ull;
        m.destination.nb[0] = 1933068181894824110ull;
        m.destination.nb[1] = 13333783001218022595ull;
        m.destination.nb[2] = 6287753746831669464ull;
        m.destination.nb[3] = 17688468566154867949ull;
        m.destination.op_params[0] = 27095298u;
        m.destination.op_params[1] = -2132284137;
        m.destination.op_params[2] = 3303724u;
        m.destination.op_params[3] = 2138891585u;
        m.destination.op_params[4] = -20487850;
        m.destination.op_params[5] = 2115100011u;
        m.destination.op_params[6] = -44279424;
        m.destination.op_params[7] = 2091308437u;
        m.destination.op_params[8] = -68070998;
        m.destination.op_params[9] = 2067516863u;
        m.destination.op_params[10] = -91862572;
        m.destination.op_params[11] = 2043725289u;
        m.destination.op_params[12] = -115654146;
        m.destination.op_params[13] = 2019933715u;
        m.destination.op_params[14] = -139445720;
        m.destination.op_params[15] = 1996142141u;
        m.destination.flags = -163237294;
        m.destination.src[0] = 1540406429457821287ull;
        m.destination.src[1] = 12941121248781019772ull;
        m.destination.src[2] = 5895091994394666641ull;
        m.destination.src[3] = 17295806813717865126ull;
        m.destination.src[4] = 10249777559331511995ull;
        m.destination.src[5] = 3203748304945158864ull;
        m.destination.src[6] = 14604463124268357349ull;
        m.destination.src[7] = 7558433869882004218ull;
        m.destination.src[8] = 512404615495651087ull;
        m.destination.src[9] = 11913119434818849572ull;
        m.destination.view_src = 4867090180432496441ull;
        m.destination.view_offs = 16267804999755694926ull;
        m.destination.data = 9221775745369341795ull;
        std::strcpy(m.destination.name, "name 1293");
        visit("wide_cpy_tensor_request", m, "6a4c522997e98ef77fc89ca85063c6959444e727a9c031a7be3c7c267dd06c70d3b8c6a5364aa40ee8341125f0c3dbacfdb05ba4a93d134b122da62363b74ae927a9f0a21c3182873c253b22d6aab92551a185a18f24f1c3661dd020499e28627b991aa09015651fa591af9eba0dfa1dcf89449de4058f1cf981d99b0efe231b237a6e9a38f6b8194d72039962ee4d18776a98978ce6e216a1622d96b6de7715cb5ac29400000000e0d60c14542d0f82f55257930da746200acfa112c7207ebe1f4bec91809ab55c34c736113a14edfa49438190f38d24995ebfcb0fad075c37733b168f668193d588b7600e20fbca739d33ab8dd9740212b2aff50c93ee39b0c72b408c4c68714edca78a0b06e2a8ec6e616d6520313235300000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000006a01f0a79d517291b1c6a893098b4084514ff87a542be035a9049075fbcf5a16f0c948618362d408488de05d2af64de990429858b299c7cae80730445a3d31ac3fcbd83fe1c0bb9d8780803b8964257edf4528271107af502719d0117ede7802c69320041e57c7f5661c7fe6bdd117e80595cfd95d5a67caa51f1fbbfcd3b7bd44986fae9c5d079fe411bf913be6578283ab0f73db6fa76523245f60000000067ae8f757c9f60157c2adaf4351998b391a62474ef92cf51a6226ff3a80c07f0bb9eb97262863e8ed01a04f21b00762ce5964e71d579adcafa1299f08ef3e4680f8fe36f486d1c07240b2eef01e753a53987786ebb608b434e03c3ed74dac2e1637f0d6d2e54fa7f6e616d65203132393300000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000");
    }
    {
        WideCpyTensorReply m;
        m.copied = false;
        visit("wide_cpy_tensor_reply", m, "00000000");
    }
    {
        WideGraphComputeRequest m;
        m.resource = 3941397410u;
        m.size = 17931146875243032503ull;
        visit("wide_graph_compute_request", m, "a2f3eceab76f376a143bd8f8");
    }
    {
        WideGraphComputeReply m;
        m.status = -377361460;
        visit("wide_graph_compute_reply", m, "cceb81e9");
    }
    {
        RingCreateRequest m;
        m.resource = 1758226401u;
        m.slots = 3893814262u;
        m.slot_size = 1734434827u;
        visit("ring_create_request", m, "e167cc68f6e316e80b606167");
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
        m.resource = 3870022688u;
        m.size = 12548459496344016949ull;
        m.wide = true;
        m.dropped.resize(2);
        m.dropped[0] = 16903145061280862303ull;
        m.dropped[1] = 9857115806894509172ull;
        visit("graph_keep_request", m, "20dcabe63558f6656d1525ae01000000020000005f508b64e00894ea74ccd5e39982cb88");
    }
    {
        GraphKeepReply m;
        m.status = 1663060105u;
        m.graph = 14211801371831354526ull;
        visit("graph_keep_reply", m, "894820639ec46ae20c763ac5");
    }
    {
        GraphRunRequest m;
        m.graph = 7165772117445001395ull;
        visit("graph_run_request", m, "b340b561c6ef7163");
    }
    {
        GraphRunReply m;
        m.known = true;
        m.status = 1615476957u;
        visit("graph_run_reply", m, "01000000dd384a60");
    }
    {
        GraphPatchRequest m;
        m.graph = 4474428427995493618ull;
        m.resource = 1591685383u;
        m.size = 8829113992932338972ull;
        visit("graph_patch_request", m, "f2b494dff25c183e0731df5e1cad29de6550877a");
    }
    {
        GraphPatchReply m;
        m.known = false;
        m.status = -591485626;
        visit("graph_patch_reply", m, "0000000046a5bedc");
    }
}

} // namespace apir
