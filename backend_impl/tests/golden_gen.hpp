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
        DeviceGetDeviceCountRequest m;
        visit("device_get_device_count_request", m, "");
    }
    {
        DeviceGetDeviceCountReply m;
        m.count = 2077648083u;
        visit("device_get_device_count_reply", m, "d364d67b");
    }
    {
        DeviceGetCountRequest m;
        visit("device_get_count_request", m, "");
    }
    {
        DeviceGetCountReply m;
        m.count = -81731352;
        visit("device_get_count_reply", m, "e8e020fb");
    }
    {
        DeviceGetNameRequest m;
        visit("device_get_name_request", m, "");
    }
    {
        DeviceGetNameReply m;
        m.name = "text 190";
        visit("device_get_name_reply", m, "0900000000000000746578742031393000000000");
    }
    {
        DeviceGetDescriptionRequest m;
        visit("device_get_description_request", m, "");
    }
    {
        DeviceGetDescriptionReply m;
        m.description = "text 191";
        visit("device_get_description_reply", m, "0900000000000000746578742031393100000000");
    }
    {
        DeviceGetTypeRequest m;
        visit("device_get_type_request", m, "");
    }
    {
        DeviceGetTypeReply m;
        m.type = 2030064935u;
        visit("device_get_type_reply", m, "27550079");
    }
    {
        DeviceGetMemoryRequest m;
        visit("device_get_memory_request", m, "");
    }
    {
        DeviceGetMemoryReply m;
        m.free = 5175415357959754044ull;
        m.total = 16576130177282952529ull;
        visit("device_get_memory_reply", m, "3cd14af8d8c4d247514d9577923e0ae6");
    }
    {
        DeviceSupportsOpRequest m;
        m.op.tensor.type = 4141861222u;
        m.op.tensor.buffer = 1u;
        m.op.tensor.ne[0] = -4561957585876106864ll;
        m.op.tensor.ne[1] = 6838757233447091621ull;
        m.op.tensor.ne[2] = -207272020939261510ll;
        m.op.tensor.ne[3] = -7253301275325614641ll;
        m.op.tensor.nb[0] = 4147413543997583844ull;
        m.op.tensor.nb[1] = 15548128363320782329ull;
        m.op.tensor.nb[2] = 8502099108934429198ull;
        m.op.tensor.nb[3] = 1456069854548076067ull;
        m.op.tensor.op = 4022903352u;
        m.op.tensor.op_params[0] = 1863523917u;
        m.op.tensor.op_params[1] = -295855518;
        m.op.tensor.op_params[2] = 1839732343u;
        m.op.tensor.op_params[3] = -319647092;
        m.op.tensor.op_params[4] = 1815940769u;
        m.op.tensor.op_params[5] = -343438666;
        m.op.tensor.op_params[6] = 1792149195u;
        m.op.tensor.op_params[7] = -367230240;
        m.op.tensor.op_params[8] = 1768357621u;
        m.op.tensor.op_params[9] = -391021814;
        m.op.tensor.op_params[10] = 1744566047u;
        m.op.tensor.op_params[11] = -414813388;
        m.op.tensor.op_params[12] = 1720774473u;
        m.op.tensor.op_params[13] = -438604962;
        m.op.tensor.op_params[14] = 1696982899u;
        m.op.tensor.op_params[15] = -462396536;
        m.op.tensor.flags = 1673191325u;
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
        m.op.tensor.view_offs = 11436121107472101529ull;
        m.op.tensor.data = 4390091853085748398ull;
        std::strcpy(m.op.tensor.name, "name 236");
        m.op.tensor.extra = 8744777418022593752ull;
        m.op.handle = 1698748163636240621ull;
        m.op.view_src.type = 3618446594u;
        m.op.view_src.buffer = 6053433728573085975ull;
        m.op.view_src.ne[0] = -992595525813267156ll;
        m.op.view_src.ne[1] = -8038624780199620287ll;
        m.op.view_src.ne[2] = 3362090039123578198ull;
        m.op.view_src.ne[3] = -3683939215262774933ll;
        m.op.view_src.nb[0] = 7716775604060423552ull;
        m.op.view_src.nb[1] = 670746349674070421ull;
        m.op.view_src.nb[2] = 12071461168997268906ull;
        m.op.view_src.nb[3] = 5025431914610915775ull;
        m.op.view_src.op = 3499488724u;
        m.op.view_src.op_params[0] = 1340109289u;
        m.op.view_src.op_params[1] = -819270146;
        m.op.view_src.op_params[2] = 1316317715u;
        m.op.view_src.op_params[3] = -843061720;
        m.op.view_src.op_params[4] = 1292526141u;
        m.op.view_src.op_params[5] = -866853294;
        m.op.view_src.op_params[6] = 1268734567u;
        m.op.view_src.op_params[7] = -890644868;
        m.op.view_src.op_params[8] = 1244942993u;
        m.op.view_src.op_params[9] = -914436442;
        m.op.view_src.op_params[10] = 1221151419u;
        m.op.view_src.op_params[11] = -938228016;
        m.op.view_src.op_params[12] = 1197359845u;
        m.op.view_src.op_params[13] = -962019590;
        m.op.view_src.op_params[14] = 1173568271u;
        m.op.view_src.op_params[15] = -985811164;
        m.op.view_src.flags = 1149776697u;
        m.op.view_src.src[0] = 278084597237067598ull;
        m.op.view_src.src[1] = 11678799416560266083ull;
        m.op.view_src.src[2] = 4632770162173912952ull;
        m.op.view_src.src[3] = 16033484981497111437ull;
        m.op.view_src.src[4] = 8987455727110758306ull;
        m.op.view_src.src[5] = 1941426472724405175ull;
        m.op.view_src.src[6] = 13342141292047603660ull;
        m.op.view_src.src[7] = 6296112037661250529ull;
        m.op.view_src.src[8] = 17696826856984449014ull;
        m.op.view_src.src[9] = 10650797602598095883ull;
        m.op.view_src.view_src = 3604768348211742752ull;
        m.op.view_src.view_offs = 15005483167534941237ull;
        m.op.view_src.data = 7959453913148588106ull;
        std::strcpy(m.op.view_src.name, "name 280");
        m.op.view_src.extra = 12314139478085433460ull;
        m.op.src[0].type = 959444105u;
        m.op.src[0].buffer = 16668825043022278814ull;
        m.op.src[0].ne[0] = -8823948285073625933ll;
        m.op.src[0].ne[1] = 2576766534249572552ull;
        m.op.src[0].ne[2] = -4469262720136780579ll;
        m.op.src[0].ne[3] = 6931452099186417906ull;
        m.op.src[0].nb[0] = 18332166918509616391ull;
        m.op.src[0].nb[1] = 11286137664123263260ull;
        m.op.src[0].nb[2] = 4240108409736910129ull;
        m.op.src[0].nb[3] = 15640823229060108614ull;
        m.op.src[0].op = 840486235u;
        m.op.src[0].op_params[0] = -1318893200;
        m.op.src[0].op_params[1] = 816694661u;
        m.op.src[0].op_params[2] = -1342684774;
        m.op.src[0].op_params[3] = 792903087u;
        m.op.src[0].op_params[4] = -1366476348;
        m.op.src[0].op_params[5] = 769111513u;
        m.op.src[0].op_params[6] = -1390267922;
        m.op.src[0].op_params[7] = 745319939u;
        m.op.src[0].op_params[8] = -1414059496;
        m.op.src[0].op_params[9] = 721528365u;
        m.op.src[0].op_params[10] = -1437851070;
        m.op.src[0].op_params[11] = 697736791u;
        m.op.src[0].op_params[12] = -1461642644;
        m.op.src[0].op_params[13] = 673945217u;
        m.op.src[0].op_params[14] = -1485434218;
        m.op.src[0].op_params[15] = 650153643u;
        m.op.src[0].flags = -1509225792;
        m.op.src[0].src[0] = 10893475911686260437ull;
        m.op.src[0].src[1] = 3847446657299907306ull;
        m.op.src[0].src[2] = 15248161476623105791ull;
        m.op.src[0].src[3] = 8202132222236752660ull;
        m.op.src[0].src[4] = 1156102967850399529ull;
        m.op.src[0].src[5] = 12556817787173598014ull;
        m.op.src[0].src[6] = 5510788532787244883ull;
        m.op.src[0].src[7] = 16911503352110443368ull;
        m.op.src[0].src[8] = 9865474097724090237ull;
        m.op.src[0].src[9] = 2819444843337737106ull;
        m.op.src[0].view_src = 14220159662660935591ull;
        m.op.src[0].view_offs = 7174130408274582460ull;
        m.op.src[0].data = 128101153888229329ull;
        std::strcpy(m.op.src[0].name, "name 323");
        m.op.src[0].extra = 4482786718825074683ull;
        m.op.src[1].type = 2595408912u;
        m.op.src[1].buffer = 8837472283761920037ull;
        m.op.src[1].ne[0] = 1791443029375566906ull;
        m.op.src[1].ne[1] = -5254586225010786225ll;
        m.op.src[1].ne[2] = 6146128594312412260ull;
        m.op.src[1].ne[3] = -899900660073940871ll;
        m.op.src[1].nb[0] = 10500814159249257614ull;
        m.op.src[1].nb[1] = 3454784904862904483ull;
        m.op.src[1].nb[2] = 14855499724186102968ull;
        m.op.src[1].nb[3] = 7809470469799749837ull;
        m.op.src[1].op = 2476451042u;
        m.op.src[1].op_params[0] = 317071607u;
        m.op.src[1].op_params[1] = -1842307828;
        m.op.src[1].op_params[2] = 293280033u;
        m.op.src[1].op_params[3] = -1866099402;
        m.op.src[1].op_params[4] = 269488459u;
        m.op.src[1].op_params[5] = -1889890976;
        m.op.src[1].op_params[6] = 245696885u;
        m.op.src[1].op_params[7] = -1913682550;
        m.op.src[1].op_params[8] = 221905311u;
        m.op.src[1].op_params[9] = -1937474124;
        m.op.src[1].op_params[10] = 198113737u;
        m.op.src[1].op_params[11] = -1961265698;
        m.op.src[1].op_params[12] = 174322163u;
        m.op.src[1].op_params[13] = -1985057272;
        m.op.src[1].op_params[14] = 150530589u;
        m.op.src[1].op_params[15] = -2008848846;
        m.op.src[1].flags = 126739015u;
        m.op.src[1].src[0] = 3062123152425901660ull;
        m.op.src[1].src[1] = 14462837971749100145ull;
        m.op.src[1].src[2] = 7416808717362747014ull;
        m.op.src[1].src[3] = 370779462976393883ull;
        m.op.src[1].src[4] = 11771494282299592368ull;
        m.op.src[1].src[5] = 4725465027913239237ull;
        m.op.src[1].src[6] = 16126179847236437722ull;
        m.op.src[1].src[7] = 9080150592850084591ull;
        m.op.src[1].src[8] = 2034121338463731460ull;
        m.op.src[1].src[9] = 13434836157786929945ull;
        m.op.src[1].view_src = 6388806903400576814ull;
        m.op.src[1].view_offs = 17789521722723775299ull;
        m.op.src[1].data = 10743492468337422168ull;
        std::strcpy(m.op.src[1].name, "name 366");
        m.op.src[1].extra = 15098178033274267522ull;
        visit("device_supports_op_request", m, "66c9dff600000000010000000000000090c174f5beabb0c0a53dbf747825e85ebab909f4319f1ffdcf355473eb18579be4b19ef2a4928e39f92de9715e0cc6d70eaa33f11786fd7523267e70d1ff341438a2c8ef4d1e136f629a5dee7716a86d8c92f2eca10e3d6cb68a87ebcb06d26ae0821ceaf5fe66690a7bb1e81ff7fb67347346e749ef90665e6bdbe573e72565886370e49ddfba630300000000000000040000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000020000000000000099b0385b8e43b59eae2c83da47bdec3c6e616d65203233360000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000d82418d9bab05b790000000000000000eda06258742a9317021dadd7000000001799f756e71d02542c1542d6a09739f241918c555a117190560dd7d4138ba82e6b892154cd04e0cc80056cd3867e176b9581b65240f84e09aafd00d2f97186a7bf794b51b3ebbd45d4f595d0e971e04ffeed2acf136a754e28e6bfcd3d620a4d52de54cc675a9f4b7cd6e9ca9152344aa6ce7ec9bb4ac948d0c613c8e5425e47fabea8c60f3bf34524b73dc5393388444eafd2c377f4db03632b1d43316e13a278a767c2eae74a408d23b241a46182dea29ffcc05ddbb97cb71b47401755f11acc9791bfd0ce28b9e113dc3e8a486057f68f26be43c297f50b0c713dfd3bcf932088bbbcb6b506323504063c702f3ed04a8050bb29a9756e6e616d652032383000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000007478e5b99c9ce4aa000000000000000089f42f39000000009e707ab80f9053e7b3ecc437c9098b85c8680fb78283c223dde459363cfdf9c1f260a4b5f576316007ddee34aff068fe1c5939b4686aa09c31d5833322e4d73a4651ceb2db5d0fd95bcd1832704963b185c5ad309a41f8afafbd422fc4398daed9b5d72dee3122ad03ae6c2c182ab7ab2da6012b42224caa579e96296c1ae1a881962b28961276a7ab8ec026c00a0ba6d5865525a0662d97ea02a0a459e06435ff7eea23135a9cd314fb34a3ccd3d37129777f22864d0b103ef3c9a13fc742ae536f1421f9407a4c68eb5ea0b2bab1ea7d67a91f6c34e98892e3f39e25ae2027a75f3e1edf2758c5bcdb889d98a18f63d157d31c521bc7016e616d65203332330000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000fb4f681bc50e363e000000000000000010ccb29a000000002548fd193802a57a3ac44799f17bdc184f409218abf513b764bcdc97646f4b55793827171ee982f38eb47196d762ba91a330bc1591dcf12fb8ac06954a5629cecd28511404d0606ce2a49b93f720e6120c9d309221197b113695c5904b111010608d5a8f7509a50e8a85ef8d9f013a0db47d848cc9f9ce0bde75198bf3f1630a086eae891deaf8083266438847e28d075c5ed886c8d87e2a71da22068252b6c886566d853bcced669bd2b704f5452505b04e0284aebf5ca3c5ca4c0368399441da46978221b3cbdfefc2e101db2c037e043f2c8194a63a1c19bb76004e2072ba2e37c17f079aa95843b30bffc013e1f6582f567e7a8d18956e616d652033363600000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000008227eb7ced8087d10000000000000000");
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
        m.buft = 1006119524501561260ull;
        visit("device_get_buffer_type_reply", m, "ac1f807b6074f60d");
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
        m.resource = 2000619562u;
        m.size = 7024146964925744191ull;
        m.max_tensor_size = 18424861784248942676ull;
        visit("device_buffer_from_ptr_request", m, "2a083f773f8489f672c87a615400d4752c42b2ff");
    }
    {
        DeviceBufferFromPtrReply m;
        m.buffer = 11378832529862589545ull;
        m.buft = 4332803275476236414ull;
        visit("device_buffer_from_ptr_reply", m, "697c1ef5e5bbe99d7ef868749f35213c");
    }
    {
        BufferTypeGetNameRequest m;
        m.buft = 15733518094799434899ull;
        visit("buffer_type_get_name_request", m, "9374b3f358af58da");
    }
    {
        BufferTypeGetNameReply m;
        m.name = "text 381";
        visit("buffer_type_get_name_reply", m, "0900000000000000746578742033383100000000");
    }
    {
        BufferTypeGetAlignmentRequest m;
        m.buft = 1641459586026728637ull;
        visit("buffer_type_get_alignment_request", m, "bd6c48f2cba2c716");
    }
    {
        BufferTypeGetAlignmentReply m;
        m.alignment = 13042174405349927122ull;
        visit("buffer_type_get_alignment_reply", m, "d2e89271851cffb4");
    }
    {
        BufferTypeGetMaxSizeRequest m;
        m.buft = 5996145150963573991ull;
        visit("buffer_type_get_max_size_request", m, "e764ddf03e963653");
    }
    {
        BufferTypeGetMaxSizeReply m;
        m.max_size = 17396859970286772476ull;
        visit("buffer_type_get_max_size_reply", m, "fce02770f80f6ef1");
    }
    {
        BufferTypeIsHostRequest m;
        m.buft = 10350830715900419345ull;
        visit("buffer_type_is_host_request", m, "115d72efb189a58f");
    }
    {
        BufferTypeIsHostReply m;
        m.is_host = true;
        visit("buffer_type_is_host_reply", m, "01000000");
    }
    {
        BufferTypeAllocBufferRequest m;
        m.buft = 14705516280837264699ull;
        m.size = 7659487026450911568ull;
        visit("buffer_type_alloc_buffer_request", m, "3b5507ee247d14cc50d1516ddef64b6a");
    }
    {
        BufferTypeAllocBufferReply m;
        m.buffer = 613457772064558437ull;
        visit("buffer_type_alloc_buffer_reply", m, "654d9cec97708308");
    }
    {
        BufferTypeGetAllocSizeRequest m;
        m.buft = 12014172591387756922ull;
        m.op.tensor.type = 3945874831u;
        m.op.tensor.buffer = 1u;
        m.op.tensor.ne[0] = -9123915171771302471ll;
        m.op.tensor.ne[1] = 2276799647551896014ull;
        m.op.tensor.ne[2] = -4769229606834457117ll;
        m.op.tensor.ne[3] = 6631485212488741368ull;
        m.op.tensor.nb[0] = 18032200031811939853ull;
        m.op.tensor.nb[1] = 10986170777425586722ull;
        m.op.tensor.nb[2] = 3940141523039233591ull;
        m.op.tensor.nb[3] = 15340856342362432076ull;
        m.op.tensor.op = 3826916961u;
        m.op.tensor.op_params[0] = 1667537526u;
        m.op.tensor.op_params[1] = -491841909;
        m.op.tensor.op_params[2] = 1643745952u;
        m.op.tensor.op_params[3] = -515633483;
        m.op.tensor.op_params[4] = 1619954378u;
        m.op.tensor.op_params[5] = -539425057;
        m.op.tensor.op_params[6] = 1596162804u;
        m.op.tensor.op_params[7] = -563216631;
        m.op.tensor.op_params[8] = 1572371230u;
        m.op.tensor.op_params[9] = -587008205;
        m.op.tensor.op_params[10] = 1548579656u;
        m.op.tensor.op_params[11] = -610799779;
        m.op.tensor.op_params[12] = 1524788082u;
        m.op.tensor.op_params[13] = -634591353;
        m.op.tensor.op_params[14] = 1500996508u;
        m.op.tensor.op_params[15] = -658382927;
        m.op.tensor.flags = 1477204934u;
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
        m.op.tensor.view_offs = 6874163521576905922ull;
        m.op.tensor.data = 18274878340900104407ull;
        std::strcpy(m.op.tensor.name, "name 433");
        m.op.tensor.extra = 4182819832127398145ull;
        m.op.handle = 15583534651450596630ull;
        m.op.view_src.type = 3422460203u;
        m.op.view_src.buffer = 1491476142677890368ull;
        m.op.view_src.ne[0] = -5554553111708462763ll;
        m.op.view_src.ne[1] = 5846161707614735722ull;
        m.op.view_src.ne[2] = -1199867546771617409ll;
        m.op.view_src.ne[3] = -8245896801157970540ll;
        m.op.view_src.nb[0] = 3154818018165227945ull;
        m.op.view_src.nb[1] = 14555532837488426430ull;
        m.op.view_src.nb[2] = 7509503583102073299ull;
        m.op.view_src.nb[3] = 463474328715720168ull;
        m.op.view_src.op = 3303502333u;
        m.op.view_src.op_params[0] = 1144122898u;
        m.op.view_src.op_params[1] = -1015256537;
        m.op.view_src.op_params[2] = 1120331324u;
        m.op.view_src.op_params[3] = -1039048111;
        m.op.view_src.op_params[4] = 1096539750u;
        m.op.view_src.op_params[5] = -1062839685;
        m.op.view_src.op_params[6] = 1072748176u;
        m.op.view_src.op_params[7] = -1086631259;
        m.op.view_src.op_params[8] = 1048956602u;
        m.op.view_src.op_params[9] = -1110422833;
        m.op.view_src.op_params[10] = 1025165028u;
        m.op.view_src.op_params[11] = -1134214407;
        m.op.view_src.op_params[12] = 1001373454u;
        m.op.view_src.op_params[13] = -1158005981;
        m.op.view_src.op_params[14] = 977581880u;
        m.op.view_src.op_params[15] = -1181797555;
        m.op.view_src.flags = 953790306u;
        m.op.view_src.src[0] = 14162871085051423607ull;
        m.op.view_src.src[1] = 7116841830665070476ull;
        m.op.view_src.src[2] = 70812576278717345ull;
        m.op.view_src.src[3] = 11471527395601915830ull;
        m.op.view_src.src[4] = 4425498141215562699ull;
        m.op.view_src.src[5] = 15826212960538761184ull;
        m.op.view_src.src[6] = 8780183706152408053ull;
        m.op.view_src.src[7] = 1734154451766054922ull;
        m.op.view_src.src[8] = 13134869271089253407ull;
        m.op.view_src.src[9] = 6088840016702900276ull;
        m.op.view_src.view_src = 17489554836026098761ull;
        m.op.view_src.view_offs = 10443525581639745630ull;
        m.op.view_src.data = 3397496327253392499ull;
        std::strcpy(m.op.view_src.name, "name 477");
        m.op.view_src.extra = 7752181892190237853ull;
        m.op.src[0].type = 763457714u;
        m.op.src[0].buffer = 12106867457127083207ull;
        m.op.src[0].ne[0] = 5060838202740730076ull;
        m.op.src[0].ne[1] = -1985191051645623055ll;
        m.op.src[0].ne[2] = -9031220306031976186ll;
        m.op.src[0].ne[3] = 2369494513291222299ull;
        m.op.src[0].nb[0] = 13770209332614420784ull;
        m.op.src[0].nb[1] = 6724180078228067653ull;
        m.op.src[0].nb[2] = 18124894897551266138ull;
        m.op.src[0].nb[3] = 11078865643164913007ull;
        m.op.src[0].op = 644499844u;
        m.op.src[0].op_params[0] = -1514879591;
        m.op.src[0].op_params[1] = 620708270u;
        m.op.src[0].op_params[2] = -1538671165;
        m.op.src[0].op_params[3] = 596916696u;
        m.op.src[0].op_params[4] = -1562462739;
        m.op.src[0].op_params[5] = 573125122u;
        m.op.src[0].op_params[6] = -1586254313;
        m.op.src[0].op_params[7] = 549333548u;
        m.op.src[0].op_params[8] = -1610045887;
        m.op.src[0].op_params[9] = 525541974u;
        m.op.src[0].op_params[10] = -1633837461;
        m.op.src[0].op_params[11] = 501750400u;
        m.op.src[0].op_params[12] = -1657629035;
        m.op.src[0].op_params[13] = 477958826u;
        m.op.src[0].op_params[14] = -1681420609;
        m.op.src[0].op_params[15] = 454167252u;
        m.op.src[0].flags = -1705212183;
        m.op.src[0].src[0] = 6331518325791064830ull;
        m.op.src[0].src[1] = 17732233145114263315ull;
        m.op.src[0].src[2] = 10686203890727910184ull;
        m.op.src[0].src[3] = 3640174636341557053ull;
        m.op.src[0].src[4] = 15040889455664755538ull;
        m.op.src[0].src[5] = 7994860201278402407ull;
        m.op.src[0].src[6] = 948830946892049276ull;
        m.op.src[0].src[7] = 12349545766215247761ull;
        m.op.src[0].src[8] = 5303516511828894630ull;
        m.op.src[0].src[9] = 16704231331152093115ull;
        m.op.src[0].view_src = 9658202076765739984ull;
        m.op.src[0].view_offs = 2612172822379386853ull;
        m.op.src[0].data = 14012887641702585338ull;
        std::strcpy(m.op.src[0].name, "name 520");
        m.op.src[0].extra = 18367573206639430692ull;
        m.op.src[1].type = 2399422521u;
        m.op.src[1].buffer = 4275514697866724430ull;
        m.op.src[1].ne[0] = -2770514556519628701ll;
        m.op.src[1].ne[1] = 8630200262803569784ull;
        m.op.src[1].ne[2] = 1584171008417216653ull;
        m.op.src[1].ne[3] = -5461858245969136478ll;
        m.op.src[1].nb[0] = 5938856573354062007ull;
        m.op.src[1].nb[1] = 17339571392677260492ull;
        m.op.src[1].nb[2] = 10293542138290907361ull;
        m.op.src[1].nb[3] = 3247512883904554230ull;
        m.op.src[1].op = 2280464651u;
        m.op.src[1].op_params[0] = 121085216u;
        m.op.src[1].op_params[1] = -2038294219;
        m.op.src[1].op_params[2] = 97293642u;
        m.op.src[1].op_params[3] = -2062085793;
        m.op.src[1].op_params[4] = 73502068u;
        m.op.src[1].op_params[5] = -2085877367;
        m.op.src[1].op_params[6] = 49710494u;
        m.op.src[1].op_params[7] = -2109668941;
        m.op.src[1].op_params[8] = 25918920u;
        m.op.src[1].op_params[9] = -2133460515;
        m.op.src[1].op_params[10] = 2127346u;
        m.op.src[1].op_params[11] = 2137715207u;
        m.op.src[1].op_params[12] = -21664228;
        m.op.src[1].op_params[13] = 2113923633u;
        m.op.src[1].op_params[14] = -45455802;
        m.op.src[1].op_params[15] = 2090132059u;
        m.op.src[1].flags = -69247376;
        m.op.src[1].src[0] = 16946909640240257669ull;
        m.op.src[1].src[1] = 9900880385853904538ull;
        m.op.src[1].src[2] = 2854851131467551407ull;
        m.op.src[1].src[3] = 14255565950790749892ull;
        m.op.src[1].src[4] = 7209536696404396761ull;
        m.op.src[1].src[5] = 163507442018043630ull;
        m.op.src[1].src[6] = 11564222261341242115ull;
        m.op.src[1].src[7] = 4518193006954888984ull;
        m.op.src[1].src[8] = 15918907826278087469ull;
        m.op.src[1].src[9] = 8872878571891734338ull;
        m.op.src[1].view_src = 1826849317505381207ull;
        m.op.src[1].view_offs = 13227564136828579692ull;
        m.op.src[1].data = 6181534882442226561ull;
        std::strcpy(m.op.src[1].name, "name 563");
        m.op.src[1].extra = 10536220447379071915ull;
        visit("buffer_type_get_alloc_size_request", m, "7ac9e66b51eabaa68f4531eb000000000100000000000000b93dc6e97d576181ceb9106937d1981fe3355be8f04ad0bdf8b1a567aac4075c0d2ef0e6633e3ffa22aa3a661db87698372685e5d631ae364ca2cf6490abe5d4611e1ae4769a64638b16afe2a092f961b50e44e1ca8a8e60df06d9dff482235f09ff6dde1e7bb85d33f702dd48734d5c5def97db726be25a87e72cda9c637759b1dfc1d8c65b0c5803000000000000000400000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000200000000000000c22c8a4f4def655fd7a8d4ce06699dfd6e616d6520343333000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000001a169cd795c0c3a0000000000000000161db44c33d643d82b99fecb000000004015494ba6c9b214559193ca5f43eab26a0dde4919bd21517f8928c9d23659ef940573488cb0908da981bdc7452ac82bbefd0747ffa3ffc9d37952c6b81d3768e8f59c4572976e06fd71e7c412ee3144276a7cc33ce6c642516211c266de5b417b5aa6c090d6f03fa5523bbfbace853ecf4ad0bde4c61a3df94265bc0ebfaf3b233bfaba38b7443a4d338fb962afd938772b24b836a08cc48ca76e37f019c462a123b9b6a993fb00b69f0336630d339fcb1b4eb51c876a3de0979834d600a2dbf513e3b38f7ad9790a902d3349f410181f0c78b2026e48b63488c231bce77f5449040db17561b7f25e8057302fdbee9073fca1afe854262f6e616d652034373700000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000009df436ae5b48956b0000000000000000b270812d00000000c7eccbacce3b04a8dc68162c88b53b46f1e460ab412f73e40661ab2afba8aa821bddf5a9b422e220305940296e9c19bf45d58aa82716515d5a51d527e18f88fb6fcd1fa79a09c09984496a2699c5b4a5ae41ff24c3bd49a4d8399423edb5dea20232292217ae73a12c2abe2041a608a05622531f6b9e9d9e801ae81d9596329daa127d1cbf8ec79bd40a121be9865c9afe02a7195f12de57137ff198188c15f628fb3b18d2054d943d7786978b7f843252f3d01645f9bbd0676f1b96fe72f36e7ceb6515b8ec2a0d9167b094716662aba6e3fa132be09949bb5f4593e459d1e7d0db8f129ed30886e557da91574d4024fad3241111c777c26e616d6520353230000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000024ccb90f84bae6fe00000000000000003948048f000000004ec44e0ef7ad553b6340998db0278dd978bce30c6aa1c4778d382e8c231bfc15a2b4780bdd9433b4b730c38a960e6b52ccac0d0a5088a2f0e12858890902da8ef6a4a208c37b112d0b21ed87209d3707351982864a95cc055f111785748d61048909ac839e85f602b3014182c87d8b01ddf9d580f275200007f26a7f1c6eb5fe31eaff7d46664afd5be2947c705edffb85da297b87842feb9a5674fa40fe6689afd2be79fa779e27c44e09f9b3f1d5c5d9ca53786d6b0d64ee469ef726e5440203c3e876e05e7ca0183f33f699d8b33e2dbb7d755352ebdc4237c8f40ccc227b57b31274c6455a196c2f5df37fbf91b781aba7723939c9556e616d65203536330000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000aba33c71ac2c38920000000000000000");
    }
    {
        BufferTypeGetAllocSizeReply m;
        m.size = 3490191192992718784ull;
        visit("buffer_type_get_alloc_size_reply", m, "c01f87f065a66f30");
    }
    {
        BufferGetBaseRequest m;
        m.buffer = 14890906012315917269ull;
        visit("buffer_get_base_request", m, "d59bd16f1f20a7ce");
    }
    {
        BufferGetBaseReply m;
        m.base = 7844876757929564138ull;
        visit("buffer_get_base_reply", m, "ea171cefd899de6c");
    }
    {
        BufferSetTensorRequest m;
        m.buffer = 798847503543211007ull;
        m.tensor.id = 12199562322866409492ull;
        m.tensor.type = 1828424745u;
        m.tensor.buffer = 16554247887803254846ull;
        m.tensor.ne[0] = 1804633171u;
        m.tensor.ne[1] = 3940221032u;
        m.tensor.ne[2] = 1780841597u;
        m.tensor.ne[3] = 3916429458u;
        m.tensor.nb[0] = 1757050023u;
        m.tensor.nb[1] = 3892637884u;
        m.tensor.nb[2] = 1733258449u;
        m.tensor.nb[3] = 3868846310u;
        m.tensor.op = 1709466875u;
        m.tensor.op_params[0] = -449912560;
        m.tensor.op_params[1] = 1685675301u;
        m.tensor.op_params[2] = -473704134;
        m.tensor.op_params[3] = 1661883727u;
        m.tensor.op_params[4] = -497495708;
        m.tensor.op_params[5] = 1638092153u;
        m.tensor.op_params[6] = -521287282;
        m.tensor.op_params[7] = 1614300579u;
        m.tensor.op_params[8] = -545078856;
        m.tensor.op_params[9] = 1590509005u;
        m.tensor.op_params[10] = -568870430;
        m.tensor.op_params[11] = 1566717431u;
        m.tensor.op_params[12] = -592662004;
        m.tensor.op_params[13] = 1542925857u;
        m.tensor.op_params[14] = -616453578;
        m.tensor.op_params[15] = 1519134283u;
        m.tensor.flags = -640245152;
        m.tensor.src[0] = 10778898756467236469ull;
        m.tensor.src[1] = 3732869502080883338ull;
        m.tensor.src[2] = 15133584321404081823ull;
        m.tensor.src[3] = 8087555067017728692ull;
        m.tensor.src[4] = 1041525812631375561ull;
        m.tensor.src[5] = 12442240631954574046ull;
        m.tensor.src[6] = 5396211377568220915ull;
        m.tensor.src[7] = 16796926196891419400ull;
        m.tensor.src[8] = 9750896942505066269ull;
        m.tensor.src[9] = 2704867688118713138ull;
        m.tensor.view_src = 14105582507441911623ull;
        m.tensor.view_offs = 7059553253055558492ull;
        m.tensor.data = 13523998669205361ull;
        std::strcpy(m.tensor.name, "name 611");
        m.resource = 1328801691u;
        m.offset = 15768924382929249200ull;
        m.size = 8722895128542896069ull;
        visit("buffer_set_tensor_request", m, "ff93666e9213160b1410b1ed4b8d4da9298cfb6c000000003e0846ecbe80bce55384906b6800dbea7d7c256a92f86fe9a774ba68bcf004e8d16c4f67e6e899e6fb64e46510e12ee5255d79643ad9c3e34f550e6364d158e2794da3618ec9ede0a3453860b8c182dfcd3dcd5ee2b917def735625d0cb2acdc212ef75b36aa41db4b268c5a60a2d6d9751e21594f5796958a9a6bd808d1cd339f16b657c24a05d2b49200d77bc43c70c90e4b56353e740ede8a95d5eeb7abacf306e054a831e34a08832ad461ab1ae91dff74531b255287327bbfd2d49e892547f709528e18c1c35c7354d14792f86171ef9e50010c30006e616d6520363131000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000009be7334fb0637ece2d79d6dac5dfc84de7f20d79");
    }
    {
        BufferSetTensorReply m;
        visit("buffer_set_tensor_reply", m, "");
    }
    {
        BufferGetTensorRequest m;
        m.buffer = 1676865874156542938ull;
        m.tensor.id = 13077580693479741423ull;
        m.tensor.type = 3416806404u;
        m.tensor.buffer = 17432266258416586777ull;
        m.tensor.ne[0] = 3393014830u;
        m.tensor.ne[1] = 1233635395u;
        m.tensor.ne[2] = 3369223256u;
        m.tensor.ne[3] = 1209843821u;
        m.tensor.nb[0] = 3345431682u;
        m.tensor.nb[1] = 1186052247u;
        m.tensor.nb[2] = 3321640108u;
        m.tensor.nb[3] = 1162260673u;
        m.tensor.op = 3297848534u;
        m.tensor.op_params[0] = 1138469099u;
        m.tensor.op_params[1] = -1020910336;
        m.tensor.op_params[2] = 1114677525u;
        m.tensor.op_params[3] = -1044701910;
        m.tensor.op_params[4] = 1090885951u;
        m.tensor.op_params[5] = -1068493484;
        m.tensor.op_params[6] = 1067094377u;
        m.tensor.op_params[7] = -1092285058;
        m.tensor.op_params[8] = 1043302803u;
        m.tensor.op_params[9] = -1116076632;
        m.tensor.op_params[10] = 1019511229u;
        m.tensor.op_params[11] = -1139868206;
        m.tensor.op_params[12] = 995719655u;
        m.tensor.op_params[13] = -1163659780;
        m.tensor.op_params[14] = 971928081u;
        m.tensor.op_params[15] = -1187451354;
        m.tensor.flags = 948136507u;
        m.tensor.src[0] = 11656917127080568400ull;
        m.tensor.src[1] = 4610887872694215269ull;
        m.tensor.src[2] = 16011602692017413754ull;
        m.tensor.src[3] = 8965573437631060623ull;
        m.tensor.src[4] = 1919544183244707492ull;
        m.tensor.src[5] = 13320259002567905977ull;
        m.tensor.src[6] = 6274229748181552846ull;
        m.tensor.src[7] = 17674944567504751331ull;
        m.tensor.src[8] = 10628915313118398200ull;
        m.tensor.src[9] = 3582886058732045069ull;
        m.tensor.view_src = 14983600878055243554ull;
        m.tensor.view_offs = 7937571623668890423ull;
        m.tensor.data = 891542369282537292ull;
        std::strcpy(m.tensor.name, "name 658");
        m.resource = 2917183350u;
        m.offset = 16646942753542581131ull;
        m.size = 9600913499156228000ull;
        visit("buffer_get_tensor_request", m, "da5b13cda06c4517efd75d4c5ae67cb50454a8cb0000000019d0f24acdd9ebf12e4c3dca43c887495844d2c86dc01c48823c67c797b8b146ac34fcc5c1b04645d62c91c4eba8db43002526c315a170422a1dbbc13f990541541550c069919a3f7e0de5be93892f3ea8057abdbd81c43cd2fd0ebce779593bfcf5a3ba1172ee3926ee38b93b6a833850e6cdb75db0c5a165621837172afd3f7ade62b6d0a334de8f5aad358a1d6c7ca4d6f7b44397a31ab9524234fd10dbb8cece8cb3b68a1257e34ad73270044af5f8c621b2297e81930d436c31e3f7b83122bfb6b09c71f0cf373b013056eb276e4cb74baf0f655f0c6e616d65203635380000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000076afe0ad8b2b2b2d3cd205e7a0a775acf54b3d85");
    }
    {
        BufferGetTensorReply m;
        visit("buffer_get_tensor_reply", m, "");
    }
    {
        BufferCpyTensorRequest m;
        m.buffer = 2554884244769874869ull;
        m.source.id = 13955599064093073354ull;
        m.source.type = 710220767u;
        m.source.buffer = 18310284629029918708ull;
        m.source.ne[0] = 686429193u;
        m.source.ne[1] = 2822017054u;
        m.source.ne[2] = 662637619u;
        m.source.ne[3] = 2798225480u;
        m.source.nb[0] = 638846045u;
        m.source.nb[1] = 2774433906u;
        m.source.nb[2] = 615054471u;
        m.source.nb[3] = 2750642332u;
        m.source.op = 591262897u;
        m.source.op_params[0] = -1568116538;
        m.source.op_params[1] = 567471323u;
        m.source.op_params[2] = -1591908112;
        m.source.op_params[3] = 543679749u;
        m.source.op_params[4] = -1615699686;
        m.source.op_params[5] = 519888175u;
        m.source.op_params[6] = -1639491260;
        m.source.op_params[7] = 496096601u;
        m.source.op_params[8] = -1663282834;
        m.source.op_params[9] = 472305027u;
        m.source.op_params[10] = -1687074408;
        m.source.op_params[11] = 448513453u;
        m.source.op_params[12] = -1710865982;
        m.source.op_params[13] = 424721879u;
        m.source.op_params[14] = -1734657556;
        m.source.op_params[15] = 400930305u;
        m.source.flags = -1758449130;
        m.source.src[0] = 12534935497693900331ull;
        m.source.src[1] = 5488906243307547200ull;
        m.source.src[2] = 16889621062630745685ull;
        m.source.src[3] = 9843591808244392554ull;
        m.source.src[4] = 2797562553858039423ull;
        m.source.src[5] = 14198277373181237908ull;
        m.source.src[6] = 7152248118794884777ull;
        m.source.src[7] = 106218864408531646ull;
        m.source.src[8] = 11506933683731730131ull;
        m.source.src[9] = 4460904429345377000ull;
        m.source.view_src = 15861619248668575485ull;
        m.source.view_offs = 8815589994282222354ull;
        m.source.data = 1769560739895869223ull;
        std::strcpy(m.source.name, "name 705");
        m.destination.id = 6124246304832714577ull;
        m.destination.type = 2346185574u;
        m.destination.buffer = 10478931869769559931ull;
        m.destination.ne[0] = 2322394000u;
        m.destination.ne[1] = 163014565u;
        m.destination.ne[2] = 2298602426u;
        m.destination.ne[3] = 139222991u;
        m.destination.nb[0] = 2274810852u;
        m.destination.nb[1] = 115431417u;
        m.destination.nb[2] = 2251019278u;
        m.destination.nb[3] = 91639843u;
        m.destination.op = 2227227704u;
        m.destination.op_params[0] = 67848269u;
        m.destination.op_params[1] = -2091531166;
        m.destination.op_params[2] = 44056695u;
        m.destination.op_params[3] = -2115322740;
        m.destination.op_params[4] = 20265121u;
        m.destination.op_params[5] = -2139114314;
        m.destination.op_params[6] = -3526453;
        m.destination.op_params[7] = 2132061408u;
        m.destination.op_params[8] = -27318027;
        m.destination.op_params[9] = 2108269834u;
        m.destination.op_params[10] = -51109601;
        m.destination.op_params[11] = 2084478260u;
        m.destination.op_params[12] = -74901175;
        m.destination.op_params[13] = 2060686686u;
        m.destination.op_params[14] = -98692749;
        m.destination.op_params[15] = 2036895112u;
        m.destination.flags = -122484323;
        m.destination.src[0] = 4703582738433541554ull;
        m.destination.src[1] = 16104297557756740039ull;
        m.destination.src[2] = 9058268303370386908ull;
        m.destination.src[3] = 2012239048984033777ull;
        m.destination.src[4] = 13412953868307232262ull;
        m.destination.src[5] = 6366924613920879131ull;
        m.destination.src[6] = 17767639433244077616ull;
        m.destination.src[7] = 10721610178857724485ull;
        m.destination.src[8] = 3675580924471371354ull;
        m.destination.src[9] = 15076295743794569839ull;
        m.destination.view_src = 8030266489408216708ull;
        m.destination.view_offs = 984237235021863577ull;
        m.destination.data = 12384952054345062062ull;
        std::strcpy(m.destination.name, "name 748");
        visit("buffer_cpy_tensor_request", m, "b523c02bafc57423ca9f0aab683facc1df1b552a00000000f4979fa9db321bfe0914ea281e9034a8330c7f274888c9a65d04142672805ea587fca8249c78f3a3b1f43d23c67088a2dbecd221f0681da105e567201a61b29f2fddfc1e4459479e59d5911d6e51dc9c83cd261c9849719badc5bb1ac241069ad7bd5019ec399b9801b6e517163230972bae7a166c09f5ad402ac59525832c4c55a60f15dffc63ea6a225a9498769b887f9ea41352f0d226941aef920b6a0ac5a9963912c5e34163be1284917e5d7901d38ece1038d7b09fe80a1990f150e83dfd86630fabca1fdc1203ae8e6444577a277ff80d1ebe8e186e616d65203730350000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000051778d0c91b1fd5466f3d78b000000007b6f220b04a56c9190eb6c8aa567b709bae30189cf5f4c08e4db9687f957e1060ed42b862350760538ccc0844d480b0462c455837740a0028cbcea81a1383501b6b47f80cb30caffe0ac147ff5285ffe0aa5a97d1f21f4fc349d3e7c491989fb5e95d37a73111efa888d68799d09b3f8b285fd77947b4641c70148f74df57ddfdc7d9276076fb57df1f9dcf5c0e8ec1b067627757a6224ba1bf271f433dc5b58306ebc73ed5593f645ea06f3a6cfca945a665172604902336fe29bf119c339d1845ee670d33c716f99da30f08cb6a80dae567b6f4630e0ab6e616d652037343800000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000");
    }
    {
        BufferCpyTensorReply m;
        m.copied = true;
        visit("buffer_cpy_tensor_reply", m, "01000000");
    }
    {
        BufferClearRequest m;
        m.buffer = 9693608364895554285ull;
        m.value = 2u;
        visit("buffer_clear_request", m, "edca5aed729d868602000000");
    }
    {
        BufferClearReply m;
        visit("buffer_clear_reply", m, "");
    }
    {
        BufferFreeBufferRequest m;
        m.buffer = 14048293929832399639ull;
        visit("buffer_free_buffer_request", m, "17c3efebe590f5c2");
    }
    {
        BufferFreeBufferReply m;
        visit("buffer_free_buffer_reply", m, "");
    }
    {
        BackendGraphComputeRequest m;
        m.resource = 1798979372u;
        m.size = 18402979494769244993ull;
        visit("backend_graph_compute_request", m, "2c3f3a6b41bb84ea588464ff");
    }
    {
        BackendGraphComputeReply m;
        m.status = 1775187798u;
        visit("backend_graph_compute_reply", m, "5637cf69");
    }
    {
        NegotiateRequest m;
        m.version = 3910775659u;
        m.offered = 15711635805319737216ull;
        m.session = 8665606550933384085ull;
        visit("negotiate_request", m, "6bb319e9802f646885f10ada95abaee73e6b4278");
    }
    {
        NegotiateReply m;
        m.accepted = 1619577296547030954ull;
        visit("negotiate_reply", m, "aa27f966f8e47916");
    }
    {
        OnDeviceRequest m;
        m.device = 3863192511u;
        m.call = 1703813076u;
        visit("on_device_request", m, "bfa343e6d41f8e65");
    }
    {
        OnDeviceReply m;
        visit("on_device_reply", m, "");
    }
    {
        WideSupportsOpRequest m;
        m.tensors.resize(2);
        m.tensors[0].id = 17374977680807074793ull;
        m.tensors[0].type = 1680021502u;
        m.tensors[0].op = 3815609363u;
        m.tensors[0].buffer = 14683633991357567016ull;
        m.tensors[0].ne[0] = 7637604736971213885ull;
        m.tensors[0].ne[1] = 591575482584860754ull;
        m.tensors[0].ne[2] = -6454453771801492377ll;
        m.tensors[0].ne[3] = 4946261047521706108ull;
        m.tensors[0].nb[0] = 16346975866844904593ull;
        m.tensors[0].nb[1] = 9300946612458551462ull;
        m.tensors[0].nb[2] = 2254917358072198331ull;
        m.tensors[0].nb[3] = 13655632177395396816ull;
        m.tensors[0].op_params[0] = -598315803;
        m.tensors[0].op_params[1] = 1537272058u;
        m.tensors[0].op_params[2] = -622107377;
        m.tensors[0].op_params[3] = 1513480484u;
        m.tensors[0].op_params[4] = -645898951;
        m.tensors[0].op_params[5] = 1489688910u;
        m.tensors[0].op_params[6] = -669690525;
        m.tensors[0].op_params[7] = 1465897336u;
        m.tensors[0].op_params[8] = -693482099;
        m.tensors[0].op_params[9] = 1442105762u;
        m.tensors[0].op_params[10] = -717273673;
        m.tensors[0].op_params[11] = 1418314188u;
        m.tensors[0].op_params[12] = -741065247;
        m.tensors[0].op_params[13] = 1394522614u;
        m.tensors[0].op_params[14] = -764856821;
        m.tensors[0].op_params[15] = 1370731040u;
        m.tensors[0].flags = -788648395;
        m.tensors[0].src[0] = 15954314114407901770ull;
        m.tensors[0].src[1] = 8908284860021548639ull;
        m.tensors[0].src[2] = 1862255605635195508ull;
        m.tensors[0].src[3] = 13262970424958393993ull;
        m.tensors[0].src[4] = 6216941170572040862ull;
        m.tensors[0].src[5] = 17617655989895239347ull;
        m.tensors[0].src[6] = 10571626735508886216ull;
        m.tensors[0].src[7] = 3525597481122533085ull;
        m.tensors[0].src[8] = 14926312300445731570ull;
        m.tensors[0].src[9] = 7880283046059378439ull;
        m.tensors[0].view_src = 834253791673025308ull;
        m.tensors[0].view_offs = 12234968610996223793ull;
        m.tensors[0].data = 5188939356609870662ull;
        std::strcpy(m.tensors[0].name, "name 804");
        m.tensors[1].id = 9543624921546716016ull;
        m.tensors[1].type = 3315986309u;
        m.tensors[1].op = 1156606874u;
        m.tensors[1].buffer = 6852281232097208239ull;
        m.tensors[1].ne[0] = -193748022289144892ll;
        m.tensors[1].ne[1] = -7239777276675498023ll;
        m.tensors[1].ne[2] = 4160937542647700462ull;
        m.tensors[1].ne[3] = -2885091711738652669ll;
        m.tensors[1].nb[0] = 8515623107584545816ull;
        m.tensors[1].nb[1] = 1469593853198192685ull;
        m.tensors[1].nb[2] = 12870308672521391170ull;
        m.tensors[1].nb[3] = 5824279418135038039ull;
        m.tensors[1].op_params[0] = 1037649004u;
        m.tensors[1].op_params[1] = -1121730431;
        m.tensors[1].op_params[2] = 1013857430u;
        m.tensors[1].op_params[3] = -1145522005;
        m.tensors[1].op_params[4] = 990065856u;
        m.tensors[1].op_params[5] = -1169313579;
        m.tensors[1].op_params[6] = 966274282u;
        m.tensors[1].op_params[7] = -1193105153;
        m.tensors[1].op_params[8] = 942482708u;
        m.tensors[1].op_params[9] = -1216896727;
        m.tensors[1].op_params[10] = 918691134u;
        m.tensors[1].op_params[11] = -1240688301;
        m.tensors[1].op_params[12] = 894899560u;
        m.tensors[1].op_params[13] = -1264479875;
        m.tensors[1].op_params[14] = 871107986u;
        m.tensors[1].op_params[15] = -1288271449;
        m.tensors[1].flags = 847316412u;
        m.tensors[1].src[0] = 8122961355147542993ull;
        m.tensors[1].src[1] = 1076932100761189862ull;
        m.tensors[1].src[2] = 12477646920084388347ull;
        m.tensors[1].src[3] = 5431617665698035216ull;
        m.tensors[1].src[4] = 16832332485021233701ull;
        m.tensors[1].src[5] = 9786303230634880570ull;
        m.tensors[1].src[6] = 2740273976248527439ull;
        m.tensors[1].src[7] = 14140988795571725924ull;
        m.tensors[1].src[8] = 7094959541185372793ull;
        m.tensors[1].src[9] = 48930286799019662ull;
        m.tensors[1].view_src = 11449645106122218147ull;
        m.tensors[1].view_offs = 4403615851735865016ull;
        m.tensors[1].data = 15804330671059063501ull;
        std::strcpy(m.tensors[1].name, "name 847");
        visit("wide_supports_op_request", m, "02000000e99bd8e4245220f1fe17236413946de32810b86251bfc6cb3d8c02e20a39fe6952084d61c4b23508678497e07d2c6da67c00e25f37a6a444917c2cdff01fdce2a6f8765eaa991381bb74c1dd63134b1fd0f00b5d1d8d82bde56c56dcfae8a05b0f65ebda24e1355a395d80d94ed9ca58635515d878d15f578d4daad6a2c9f455b7453fd5ccc18954e13dd4d3f6b91e530b3669d220b2b351352efed0000000004aaa4850281c69dd5f2693cfe195a07b74a2dd4e9b0fd819891e28ce54890fb89e9a724d0e034756b316bdccc77c7ef4c892074c81f6b592dd0e52cb3a70ed30f28a9c4af4e924cf0707e7c9ad635c6d1c83314967dd930b31ff7bc82057cba9467bc647dad002486e616d6520383034000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000070735b464dc4718485efa5c59a6bf044afe73ac47931185fc463854333ab4ffdd9dfcfc2ec24879bee5b1a42a69ebe3903d864c15f18f6d71854af4019922d762dd0f9bfd20b6514424c443f8c859cb257c88ebe45ffd3506c44d93d81c023bd963c6e3cabb8b8bbc034033bd5b04dbaea2c9839ffa8e2b814252d3829a177b73e1dc23653990cb6681557357d91a1b4920dec33a78936b3bc05813200000000d181cbb1508eba70e6fd15310a08f20efb7960b0c38129ad10f6aa2f7dfb604b2572f5ae367598e93aee3f2ef0eecf874f6a8aada968072664e6d42c63e23ec479621fac1c5c76628ede692bd6d5ad00a35ab4aa8f4fe59eb8d6fe2949c91c3dcd5249a9024354db6e616d65203834370000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000");
    }
    {
        WideSupportsOpReply m;
        m.supported = false;
        visit("wide_supports_op_reply", m, "00000000");
    }
    {
        WideGetAllocSizeRequest m;
        m.buft = 13112986981609555724ull;
        m.tensors.resize(2);
        m.tensors[0].id = 6066957727223202593ull;
        m.tensors[0].type = 633192246u;
        m.tensors[0].op = 2768780107u;
        m.tensors[0].buffer = 3375614037773694816ull;
        m.tensors[0].ne[0] = -3670415216612658315ll;
        m.tensors[0].ne[1] = 7730299602710540170ull;
        m.tensors[0].ne[2] = 684270348324187039ull;
        m.tensors[0].ne[3] = -6361758906062166092ll;
        m.tensors[0].nb[0] = 5038955913261032393ull;
        m.tensors[0].nb[1] = 16439670732584230878ull;
        m.tensors[0].nb[2] = 9393641478197877747ull;
        m.tensors[0].nb[3] = 2347612223811524616ull;
        m.tensors[0].op_params[0] = -1645145059;
        m.tensors[0].op_params[1] = 490442802u;
        m.tensors[0].op_params[2] = -1668936633;
        m.tensors[0].op_params[3] = 466651228u;
        m.tensors[0].op_params[4] = -1692728207;
        m.tensors[0].op_params[5] = 442859654u;
        m.tensors[0].op_params[6] = -1716519781;
        m.tensors[0].op_params[7] = 419068080u;
        m.tensors[0].op_params[8] = -1740311355;
        m.tensors[0].op_params[9] = 395276506u;
        m.tensors[0].op_params[10] = -1764102929;
        m.tensors[0].op_params[11] = 371484932u;
        m.tensors[0].op_params[12] = -1787894503;
        m.tensors[0].op_params[13] = 347693358u;
        m.tensors[0].op_params[14] = -1811686077;
        m.tensors[0].op_params[15] = 323901784u;
        m.tensors[0].flags = -1835477651;
        m.tensors[0].src[0] = 4646294160824029570ull;
        m.tensors[0].src[1] = 16047008980147228055ull;
        m.tensors[0].src[2] = 9000979725760874924ull;
        m.tensors[0].src[3] = 1954950471374521793ull;
        m.tensors[0].src[4] = 13355665290697720278ull;
        m.tensors[0].src[5] = 6309636036311367147ull;
        m.tensors[0].src[6] = 17710350855634565632ull;
        m.tensors[0].src[7] = 10664321601248212501ull;
        m.tensors[0].src[8] = 3618292346861859370ull;
        m.tensors[0].src[9] = 15019007166185057855ull;
        m.tensors[0].view_src = 7972977911798704724ull;
        m.tensors[0].view_offs = 926948657412351593ull;
        m.tensors[0].data = 12327663476735550078ull;
        std::strcpy(m.tensors[0].name, "name 892");
        m.tensors[1].id = 16682349041672395432ull;
        m.tensors[1].type = 2269157053u;
        m.tensors[1].op = 109777618u;
        m.tensors[1].buffer = 13991005352222887655ull;
        m.tensors[1].ne[0] = 6944976097836534524ull;
        m.tensors[1].ne[1] = -101053156549818607ll;
        m.tensors[1].ne[2] = -7147082410936171738ll;
        m.tensors[1].ne[3] = 4253632408387026747ull;
        m.tensors[1].nb[0] = 15654347227710225232ull;
        m.tensors[1].nb[1] = 8608317973323872101ull;
        m.tensors[1].nb[2] = 1562288718937518970ull;
        m.tensors[1].nb[3] = 12963003538260717455ull;
        m.tensors[1].op_params[0] = -9180252;
        m.tensors[1].op_params[1] = 2126407609u;
        m.tensors[1].op_params[2] = -32971826;
        m.tensors[1].op_params[3] = 2102616035u;
        m.tensors[1].op_params[4] = -56763400;
        m.tensors[1].op_params[5] = 2078824461u;
        m.tensors[1].op_params[6] = -80554974;
        m.tensors[1].op_params[7] = 2055032887u;
        m.tensors[1].op_params[8] = -104346548;
        m.tensors[1].op_params[9] = 2031241313u;
        m.tensors[1].op_params[10] = -128138122;
        m.tensors[1].op_params[11] = 2007449739u;
        m.tensors[1].op_params[12] = -151929696;
        m.tensors[1].op_params[13] = 1983658165u;
        m.tensors[1].op_params[14] = -175721270;
        m.tensors[1].op_params[15] = 1959866591u;
        m.tensors[1].flags = -199512844;
        m.tensors[1].src[0] = 15261685475273222409ull;
        m.tensors[1].src[1] = 8215656220886869278ull;
        m.tensors[1].src[2] = 1169626966500516147ull;
        m.tensors[1].src[3] = 12570341785823714632ull;
        m.tensors[1].src[4] = 5524312531437361501ull;
        m.tensors[1].src[5] = 16925027350760559986ull;
        m.tensors[1].src[6] = 9878998096374206855ull;
        m.tensors[1].src[7] = 2832968841987853724ull;
        m.tensors[1].src[8] = 14233683661311052209ull;
        m.tensors[1].src[9] = 7187654406924699078ull;
        m.tensors[1].view_src = 141625152538345947ull;
        m.tensors[1].view_offs = 11542339971861544432ull;
        m.tensors[1].data = 4496310717475191301ull;
        std::strcpy(m.tensors[1].name, "name 935");
        visit("wide_get_alloc_size_request", m, "0cc728272fb0fab502000000214373a6e829325436bfbd254b3b08a560b752241597d82e75339da3ce1010cd8aafe722888a476b9f2b32a241047f09b4a77c21fb7db6a7c923c7a0b4f7ed45de9f11206e7125e4f31b5c9f27eb5c820898a61ee16494201d14f19d32903b1d470c869c5c88d01b71041b9b8680651a9bfcaf99b078fa18c5f44498da708f17efecd9960469241619e56e952e61b91443dd039458594e136dd59892000000008251e311ecf37a4097cd2d91a56db2deac4978105fe7e97cc1c5c28f1861211bd6410d0fd2da58b9ebbd578e8b549057003aa20d45cec7f515b6ec8cfe47ff932a32370cb8c136323fae818b713b6ed0542acc0a2bb5a56e69a6168ae42edd0c7e2261099ea814ab6e616d65203839320000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000a81af607119c83e7bd964087d2128b06e78ed5853d092ac2fc0a2005f782616011876a84b0fc98fe2603b5036a76d09c3b7fff8223f0073b50fb4902dd693fd96577948196e376777af3de00505dae158f6f298009d7e5b3a4eb73ffb967be7ecee308fee35f537df8db9dfc0d58e87b22d432fb37507d7a4cccc7f96148127976c45cf88b40a777a0bcf1f6b5383c76cab486f5df30d174f4ac1bf400000000092966731466ccd31ea5b0f2cddf03723321fb7187593b10489d45f140d372ae5d199070fa4caa4c7295daefb3c6e1ea8711256f6d4019899c8d6fee26ba5027b109ba6de03388c5c68504ed99adbf63db014f6c5327f701f07d99eb0ca12ea005fae36ac61a663e6e616d65203933350000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000");
    }
    {
        WideGetAllocSizeReply m;
        m.size = 8850996282412036655ull;
        visit("wide_get_alloc_size_reply", m, "2ff27869390ed57a");
    }
    {
        WideSetTensorRequest m;
        m.buffer = 1804967028025683524ull;
        m.tensor.id = 13205681847348882009ull;
        m.tensor.type = 3881330286u;
        m.tensor.op = 1721950851u;
        m.tensor.buffer = 10514338157899374232ull;
        m.tensor.ne[0] = 3468308903513021101ull;
        m.tensor.ne[1] = -3577720350873332030ll;
        m.tensor.ne[2] = 7822994468449866455ull;
        m.tensor.ne[3] = 776965214063513324ull;
        m.tensor.nb[0] = 12177680033386711809ull;
        m.tensor.nb[1] = 5131650779000358678ull;
        m.tensor.nb[2] = 16532365598323557163ull;
        m.tensor.nb[3] = 9486336343937204032ull;
        m.tensor.op_params[0] = 1602992981u;
        m.tensor.op_params[1] = -556386454;
        m.tensor.op_params[2] = 1579201407u;
        m.tensor.op_params[3] = -580178028;
        m.tensor.op_params[4] = 1555409833u;
        m.tensor.op_params[5] = -603969602;
        m.tensor.op_params[6] = 1531618259u;
        m.tensor.op_params[7] = -627761176;
        m.tensor.op_params[8] = 1507826685u;
        m.tensor.op_params[9] = -651552750;
        m.tensor.op_params[10] = 1484035111u;
        m.tensor.op_params[11] = -675344324;
        m.tensor.op_params[12] = 1460243537u;
        m.tensor.op_params[13] = -699135898;
        m.tensor.op_params[14] = 1436451963u;
        m.tensor.op_params[15] = -722927472;
        m.tensor.flags = 1412660389u;
        m.tensor.src[0] = 11785018280949708986ull;
        m.tensor.src[1] = 4738989026563355855ull;
        m.tensor.src[2] = 16139703845886554340ull;
        m.tensor.src[3] = 9093674591500201209ull;
        m.tensor.src[4] = 2047645337113848078ull;
        m.tensor.src[5] = 13448360156437046563ull;
        m.tensor.src[6] = 6402330902050693432ull;
        m.tensor.src[7] = 17803045721373891917ull;
        m.tensor.src[8] = 10757016466987538786ull;
        m.tensor.src[9] = 3710987212601185655ull;
        m.tensor.view_src = 15111702031924384140ull;
        m.tensor.view_offs = 8065672777538031009ull;
        m.tensor.data = 1019643523151677878ull;
        std::strcpy(m.tensor.name, "name 980");
        m.resource = 3381707232u;
        m.offset = 16775043907411721717ull;
        m.size = 9729014653025368586ull;
        visit("wide_set_tensor_request", m, "446ec3e8f2870c1959ea0d68ac0144b76e6658e783e2a266985eede5d86eea91adda376592e82130c25682e44b6259ced7d2cc6305dc906cec4e17e3be55c80a01cb616278cfffa81647ace1314937472bc3f660ebc26ee5403f41e0a43ca68355bb8b5f6a37d6de7fb3205e942f6bdda9abb55cbe2700dcd3a34a5be81f95dafd9bdf5912182ad9279474583c10bfd7518c0957660854d67b849e559000e9d4a57c335400000000baf87dd3afcb8ca3cf74c8526945c441e4f012d222bffbdff96c5d51dc38337e0ee9a7d095b26a1c2365f24f4f2ca2ba38e13ccf08a6d9584d5d874ec21f11f762d9d1cd7b99489577551c4d351380338cd166ccee8cb7d1a14db14ba806ef6fb6c9fbca6180260e6e616d65203938300000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000e0c190c9f53ddb488eedcce80aba25c847670487");
    }
    {
        WideSetTensorReply m;
        visit("wide_set_tensor_reply", m, "");
    }
    {
        WideGetTensorRequest m;
        m.buffer = 2682985398639015455ull;
        m.tensor.id = 14083700217962213940ull;
        m.tensor.type = 1174744649u;
        m.tensor.op = 3310332510u;
        m.tensor.buffer = 11392356528512706163ull;
        m.tensor.ne[0] = 4346327274126353032ull;
        m.tensor.ne[1] = -2699701980260000099ll;
        m.tensor.ne[2] = 8701012839063198386ull;
        m.tensor.ne[3] = 1654983584676845255ull;
        m.tensor.nb[0] = 13055698404000043740ull;
        m.tensor.nb[1] = 6009669149613690609ull;
        m.tensor.nb[2] = 17410383968936889094ull;
        m.tensor.nb[3] = 10364354714550535963ull;
        m.tensor.op_params[0] = -1103592656;
        m.tensor.op_params[1] = 1031995205u;
        m.tensor.op_params[2] = -1127384230;
        m.tensor.op_params[3] = 1008203631u;
        m.tensor.op_params[4] = -1151175804;
        m.tensor.op_params[5] = 984412057u;
        m.tensor.op_params[6] = -1174967378;
        m.tensor.op_params[7] = 960620483u;
        m.tensor.op_params[8] = -1198758952;
        m.tensor.op_params[9] = 936828909u;
        m.tensor.op_params[10] = -1222550526;
        m.tensor.op_params[11] = 913037335u;
        m.tensor.op_params[12] = -1246342100;
        m.tensor.op_params[13] = 889245761u;
        m.tensor.op_params[14] = -1270133674;
        m.tensor.op_params[15] = 865454187u;
        m.tensor.flags = -1293925248;
        m.tensor.src[0] = 12663036651563040917ull;
        m.tensor.src[1] = 5617007397176687786ull;
        m.tensor.src[2] = 17017722216499886271ull;
        m.tensor.src[3] = 9971692962113533140ull;
        m.tensor.src[4] = 2925663707727180009ull;
        m.tensor.src[5] = 14326378527050378494ull;
        m.tensor.src[6] = 7280349272664025363ull;
        m.tensor.src[7] = 234320018277672232ull;
        m.tensor.src[8] = 11635034837600870717ull;
        m.tensor.src[9] = 4589005583214517586ull;
        m.tensor.view_src = 15989720402537716071ull;
        m.tensor.view_offs = 8943691148151362940ull;
        m.tensor.data = 1897661893765009809ull;
        std::strcpy(m.tensor.name, "name 1027");
        m.resource = 675121595u;
        m.offset = 17653062278025053648ull;
        m.size = 10607033023638700517ull;
        visit("wide_get_tensor_request", m, "1f36704701e13b2534b2bac6ba5a73c3492e05465eaa4fc573269a44e7c7199e88a2e4c3a041513c9d1e2f435abb88dab29a79c21335c078c716c441cdaef716dc920ec186282fb5f10e594040a26653068ba3bff91b9ef11b07ee3eb395d58f308338be45ff823d5a7bcdbc6ff7173c847362bb99efac3aae6bf7b9c3e74139d8638cb8eddfd637025c21b717d86b362c54b6b541d00035564c4bb46bc895338044e0b20000000095c02a32be24bcafaa3c75b1779ef34dbfb8bf3031182becd4340ab0ea91628ae9b0542fa40b9a28fe2c9fae5d85d1c613a9e92d17ff0865282534add07840033da17e2c8af277a1521dc9ab436caf3f6799132bfde5e6dd7c155eaab65f1e7c9191a82970d9551a6e616d65203130323700000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000bb893d28d00588a79c46fcf4e581d22656c03393");
    }
    {
        WideGetTensorReply m;
        visit("wide_get_tensor_reply", m, "");
    }
    {
        WideCpyTensorRequest m;
        m.buffer = 3561003769252347386ull;
        m.source.id = 14961718588575545871ull;
        m.source.type = 2763126308u;
        m.source.op = 603746873u;
        m.source.buffer = 12270374899126038094ull;
        m.source.ne[0] = 5224345644739684963ull;
        m.source.ne[1] = -1821683609646668168ll;
        m.source.ne[2] = -8867712864033021299ll;
        m.source.ne[3] = 2533001955290177186ull;
        m.source.nb[0] = 13933716774613375671ull;
        m.source.nb[1] = 6887687520227022540ull;
        m.source.nb[2] = 18288402339550221025ull;
        m.source.nb[3] = 11242373085163867894ull;
        m.source.op_params[0] = 484789003u;
        m.source.op_params[1] = -1674590432;
        m.source.op_params[2] = 460997429u;
        m.source.op_params[3] = -1698382006;
        m.source.op_params[4] = 437205855u;
        m.source.op_params[5] = -1722173580;
        m.source.op_params[6] = 413414281u;
        m.source.op_params[7] = -1745965154;
        m.source.op_params[8] = 389622707u;
        m.source.op_params[9] = -1769756728;
        m.source.op_params[10] = 365831133u;
        m.source.op_params[11] = -1793548302;
        m.source.op_params[12] = 342039559u;
        m.source.op_params[13] = -1817339876;
        m.source.op_params[14] = 318247985u;
        m.source.op_params[15] = -1841131450;
        m.source.flags = 294456411u;
        m.source.src[0] = 13541055022176372848ull;
        m.source.src[1] = 6495025767790019717ull;
        m.source.src[2] = 17895740587113218202ull;
        m.source.src[3] = 10849711332726865071ull;
        m.source.src[4] = 3803682078340511940ull;
        m.source.src[5] = 15204396897663710425ull;
        m.source.src[6] = 8158367643277357294ull;
        m.source.src[7] = 1112338388891004163ull;
        m.source.src[8] = 12513053208214202648ull;
        m.source.src[9] = 5467023953827849517ull;
        m.source.view_src = 16867738773151048002ull;
        m.source.view_offs = 9821709518764694871ull;
        m.source.data = 2775680264378341740ull;
        std::strcpy(m.source.name, "name 1074");
        m.destination.id = 7130365829315187094ull;
        m.destination.type = 104123819u;
        m.destination.op = 2239711680u;
        m.destination.buffer = 4439022139865679317ull;
        m.destination.ne[0] = -2607007114520673814ll;
        m.destination.ne[1] = 8793707704802524671ull;
        m.destination.ne[2] = 1747678450416171540ull;
        m.destination.ne[3] = -5298350803970181591ll;
        m.destination.nb[0] = 6102364015353016894ull;
        m.destination.nb[1] = 17503078834676215379ull;
        m.destination.nb[2] = 10457049580289862248ull;
        m.destination.nb[3] = 3411020325903509117ull;
        m.destination.op_params[0] = 2120753810u;
        m.destination.op_params[1] = -38625625;
        m.destination.op_params[2] = 2096962236u;
        m.destination.op_params[3] = -62417199;
        m.destination.op_params[4] = 2073170662u;
        m.destination.op_params[5] = -86208773;
        m.destination.op_params[6] = 2049379088u;
        m.destination.op_params[7] = -110000347;
        m.destination.op_params[8] = 2025587514u;
        m.destination.op_params[9] = -133791921;
        m.destination.op_params[10] = 2001795940u;
        m.destination.op_params[11] = -157583495;
        m.destination.op_params[12] = 1978004366u;
        m.destination.op_params[13] = -181375069;
        m.destination.op_params[14] = 1954212792u;
        m.destination.op_params[15] = -205166643;
        m.destination.flags = 1930421218u;
        m.destination.src[0] = 5709702262916014071ull;
        m.destination.src[1] = 17110417082239212556ull;
        m.destination.src[2] = 10064387827852859425ull;
        m.destination.src[3] = 3018358573466506294ull;
        m.destination.src[4] = 14419073392789704779ull;
        m.destination.src[5] = 7373044138403351648ull;
        m.destination.src[6] = 327014884016998517ull;
        m.destination.src[7] = 11727729703340197002ull;
        m.destination.src[8] = 4681700448953843871ull;
        m.destination.src[9] = 16082415268277042356ull;
        m.destination.view_src = 9036386013890689225ull;
        m.destination.view_offs = 1990356759504336094ull;
        m.destination.data = 13391071578827534579ull;
        std::strcpy(m.destination.name, "name 1117");
        visit("wide_cpy_tensor_request", m, "fafd1ca60f3a6b310f7a6725c9b3a2cf24f6b1a43972fc234eee46a3f52049aa636a9122af9a804878e6dba16814b8e68d622621228eef84a2de70a0db072723b75abb1f95815ec1ccd6059f4efb955fe152501e0875cdfdf6ce9a9dc1ee049c0b4be51c20c72f9c35437a1b4abfc49a5f3b0f1a74b759998933a4189eafee97b32b3917c8a78396dd23ce15f29f1895071c63141c98ad933114f812469042925b0c8d11000000007088d790cc7debbb8504221086f7225a9a806c8f3f715af8affcb60ef9ea9196c478018eb264c934d9f44b0d6cde00d3ee70968c2558387103ede00bdfd16f0f18692b8b984ba7ad2de5750a52c5de4b4261c0890b3f16ea57dd0a09c5b84d886c5955887e3285266e616d652031303734000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000009651ea86f125f462abcd3406c0497f85d5c5c9041e939a3dea411484d70cd2dbffbd5e039186097a143aa9824a00411829b6f301047a78b63e323e81bdf3af5453ae8800776de7f2682ad37f30e71e917da61dffe960562f9222687ea79eb2fdbc1afd7cd19647fce612927bfb8edcfa100b277a258771f93a03bc784f7f06f864fb507779779bf68ef3e575a36f30f5b8eb7a74cd67c5f3e2e30f7300000000f75f5af2f4ef3c4f0cdca471ae6974ed2158eff067e3ab8b36d43970215de3294b5084efdad61ac860ccce6e94505266754819ee4dca89048ac4636d0744c1a29f40aeecc0bdf840b4bcf86b7a3730dfc93843eb33b1677ddeb48d6aed2a9f1bf330d8e9a6a4d6b96e616d65203131313700000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000");
    }
    {
        WideCpyTensorReply m;
        m.copied = false;
        visit("wide_cpy_tensor_reply", m, "00000000");
    }
    {
        WideGraphComputeRequest m;
        m.resource = 1740088626u;
        m.size = 3653698634991673671ull;
        visit("wide_graph_compute_request", m, "32a5b767472102e78c8bb432");
    }
    {
        WideGraphComputeReply m;
        m.status = 1716297052u;
        visit("wide_graph_compute_reply", m, "5c9d4c66");
    }
    {
        RingCreateRequest m;
        m.resource = 3851884913u;
        m.slots = 1692505478u;
        m.slot_size = 3828093339u;
        visit("ring_create_request", m, "711997e58695e1649b112ce4");
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
}

} // namespace apir
