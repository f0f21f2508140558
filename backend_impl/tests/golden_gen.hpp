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
        DeviceGetDeviceCountRequest m;
        visit("device_get_device_count_request", m, "");
    }
    {
        DeviceGetDeviceCountReply m;
        m.count = -1170489957;
        visit("device_get_device_count_reply", m, "9bbd3bba");
    }
    {
        DeviceGetCountRequest m;
        visit("device_get_count_request", m, "");
    }
    {
        DeviceGetCountReply m;
        m.count = 965097904u;
        visit("device_get_count_reply", m, "b0398639");
    }
    {
        DeviceGetNameRequest m;
        visit("device_get_name_request", m, "");
    }
    {
        DeviceGetNameReply m;
        m.name = "text 102";
        visit("device_get_name_reply", m, "0900000000000000746578742031303200000000");
    }
    {
        DeviceGetDescriptionRequest m;
        visit("device_get_description_request", m, "");
    }
    {
        DeviceGetDescriptionReply m;
        m.description = "text 103";
        visit("device_get_description_reply", m, "0900000000000000746578742031303300000000");
    }
    {
        DeviceGetTypeRequest m;
        visit("device_get_type_request", m, "");
    }
    {
        DeviceGetTypeReply m;
        m.type = 3076894191u;
        visit("device_get_type_reply", m, "efad65b7");
    }
    {
        DeviceGetMemoryRequest m;
        visit("device_get_memory_request", m, "");
    }
    {
        DeviceGetMemoryReply m;
        m.free = 16483435311543626244ull;
        m.total = 9437406057157273113ull;
        visit("device_get_memory_reply", m, "042ab03615edc0e419a6fab5ce66f882");
    }
    {
        DeviceSupportsOpRequest m;
        m.op.tensor.type = 893723182u;
        m.op.tensor.buffer = 1u;
        m.op.tensor.ne[0] = 6746062367707765336ull;
        m.op.tensor.ne[1] = -299966886678587795ll;
        m.op.tensor.ne[2] = -7345996141064940926ll;
        m.op.tensor.ne[3] = 4054718678258257559ull;
        m.op.tensor.nb[0] = 15455433497581456044ull;
        m.op.tensor.nb[1] = 8409404243195102913ull;
        m.op.tensor.nb[2] = 1363374988808749782ull;
        m.op.tensor.nb[3] = 12764089808131948267ull;
        m.op.tensor.op = 774765312u;
        m.op.tensor.op_params[0] = -1384614123;
        m.op.tensor.op_params[1] = 750973738u;
        m.op.tensor.op_params[2] = -1408405697;
        m.op.tensor.op_params[3] = 727182164u;
        m.op.tensor.op_params[4] = -1432197271;
        m.op.tensor.op_params[5] = 703390590u;
        m.op.tensor.op_params[6] = -1455988845;
        m.op.tensor.op_params[7] = 679599016u;
        m.op.tensor.op_params[8] = -1479780419;
        m.op.tensor.op_params[9] = 655807442u;
        m.op.tensor.op_params[10] = -1503571993;
        m.op.tensor.op_params[11] = 632015868u;
        m.op.tensor.op_params[12] = -1527363567;
        m.op.tensor.op_params[13] = 608224294u;
        m.op.tensor.op_params[14] = -1551155141;
        m.op.tensor.op_params[15] = 584432720u;
        m.op.tensor.flags = -1574946715;
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
        m.op.tensor.view_offs = 4297396987346422113ull;
        m.op.tensor.data = 15698111806669620598ull;
        std::strcpy(m.op.tensor.name, "name 148");
        m.op.tensor.extra = 1606053297896914336ull;
        m.op.handle = 13006768117220112821ull;
        m.op.view_src.type = 370308554u;
        m.op.view_src.buffer = 17361453682156958175ull;
        m.op.view_src.ne[0] = -8131319645938946572ll;
        m.op.view_src.ne[1] = 3269395173384251913ull;
        m.op.view_src.ne[2] = -3776634081002101218ll;
        m.op.view_src.ne[3] = 7624080738321097267ull;
        m.op.view_src.nb[0] = 578051483934744136ull;
        m.op.view_src.nb[1] = 11978766303257942621ull;
        m.op.view_src.nb[2] = 4932737048871589490ull;
        m.op.view_src.nb[3] = 16333451868194787975ull;
        m.op.view_src.op = 251350684u;
        m.op.view_src.op_params[0] = -1908028751;
        m.op.view_src.op_params[1] = 227559110u;
        m.op.view_src.op_params[2] = -1931820325;
        m.op.view_src.op_params[3] = 203767536u;
        m.op.view_src.op_params[4] = -1955611899;
        m.op.view_src.op_params[5] = 179975962u;
        m.op.view_src.op_params[6] = -1979403473;
        m.op.view_src.op_params[7] = 156184388u;
        m.op.view_src.op_params[8] = -2003195047;
        m.op.view_src.op_params[9] = 132392814u;
        m.op.view_src.op_params[10] = -2026986621;
        m.op.view_src.op_params[11] = 108601240u;
        m.op.view_src.op_params[12] = -2050778195;
        m.op.view_src.op_params[13] = 84809666u;
        m.op.view_src.op_params[14] = -2074569769;
        m.op.view_src.op_params[15] = 61018092u;
        m.op.view_src.flags = -2098361343;
        m.op.view_src.src[0] = 11586104550820939798ull;
        m.op.view_src.src[1] = 4540075296434586667ull;
        m.op.view_src.src[2] = 15940790115757785152ull;
        m.op.view_src.src[3] = 8894760861371432021ull;
        m.op.view_src.src[4] = 1848731606985078890ull;
        m.op.view_src.src[5] = 13249446426308277375ull;
        m.op.view_src.src[6] = 6203417171921924244ull;
        m.op.view_src.src[7] = 17604131991245122729ull;
        m.op.view_src.src[8] = 10558102736858769598ull;
        m.op.view_src.src[9] = 3512073482472416467ull;
        m.op.view_src.view_src = 14912788301795614952ull;
        m.op.view_src.view_offs = 7866759047409261821ull;
        m.op.view_src.data = 820729793022908690ull;
        std::strcpy(m.op.view_src.name, "name 192");
        m.op.view_src.extra = 5175415357959754044ull;
        m.op.src[0].type = 2006273361u;
        m.op.src[0].buffer = 9530100922896599398ull;
        m.op.src[0].ne[0] = 2484071668510246267ull;
        m.op.src[0].ne[1] = -4561957585876106864ll;
        m.op.src[0].ne[2] = 6838757233447091621ull;
        m.op.src[0].ne[3] = -207272020939261510ll;
        m.op.src[0].nb[0] = 11193442798383936975ull;
        m.op.src[0].nb[1] = 4147413543997583844ull;
        m.op.src[0].nb[2] = 15548128363320782329ull;
        m.op.src[0].nb[3] = 8502099108934429198ull;
        m.op.src[0].op = 1887315491u;
        m.op.src[0].op_params[0] = -272063944;
        m.op.src[0].op_params[1] = 1863523917u;
        m.op.src[0].op_params[2] = -295855518;
        m.op.src[0].op_params[3] = 1839732343u;
        m.op.src[0].op_params[4] = -319647092;
        m.op.src[0].op_params[5] = 1815940769u;
        m.op.src[0].op_params[6] = -343438666;
        m.op.src[0].op_params[7] = 1792149195u;
        m.op.src[0].op_params[8] = -367230240;
        m.op.src[0].op_params[9] = 1768357621u;
        m.op.src[0].op_params[10] = -391021814;
        m.op.src[0].op_params[11] = 1744566047u;
        m.op.src[0].op_params[12] = -414813388;
        m.op.src[0].op_params[13] = 1720774473u;
        m.op.src[0].op_params[14] = -438604962;
        m.op.src[0].op_params[15] = 1696982899u;
        m.op.src[0].flags = -462396536;
        m.op.src[0].src[0] = 3754751791560581021ull;
        m.op.src[0].src[1] = 15155466610883779506ull;
        m.op.src[0].src[2] = 8109437356497426375ull;
        m.op.src[0].src[3] = 1063408102111073244ull;
        m.op.src[0].src[4] = 12464122921434271729ull;
        m.op.src[0].src[5] = 5418093667047918598ull;
        m.op.src[0].src[6] = 16818808486371117083ull;
        m.op.src[0].src[7] = 9772779231984763952ull;
        m.op.src[0].src[8] = 2726749977598410821ull;
        m.op.src[0].src[9] = 14127464796921609306ull;
        m.op.src[0].view_src = 7081435542535256175ull;
        m.op.src[0].view_offs = 35406288148903044ull;
        m.op.src[0].data = 11436121107472101529ull;
        std::strcpy(m.op.src[0].name, "name 235");
        m.op.src[0].extra = 15790806672408946883ull;
        m.op.src[1].type = 3642238168u;
        m.op.src[1].buffer = 1698748163636240621ull;
        m.op.src[1].ne[0] = -5347281090750112510ll;
        m.op.src[1].ne[1] = 6053433728573085975ull;
        m.op.src[1].ne[2] = -992595525813267156ll;
        m.op.src[1].ne[3] = -8038624780199620287ll;
        m.op.src[1].nb[0] = 3362090039123578198ull;
        m.op.src[1].nb[1] = 14762804858446776683ull;
        m.op.src[1].nb[2] = 7716775604060423552ull;
        m.op.src[1].nb[3] = 670746349674070421ull;
        m.op.src[1].op = 3523280298u;
        m.op.src[1].op_params[0] = 1363900863u;
        m.op.src[1].op_params[1] = -795478572;
        m.op.src[1].op_params[2] = 1340109289u;
        m.op.src[1].op_params[3] = -819270146;
        m.op.src[1].op_params[4] = 1316317715u;
        m.op.src[1].op_params[5] = -843061720;
        m.op.src[1].op_params[6] = 1292526141u;
        m.op.src[1].op_params[7] = -866853294;
        m.op.src[1].op_params[8] = 1268734567u;
        m.op.src[1].op_params[9] = -890644868;
        m.op.src[1].op_params[10] = 1244942993u;
        m.op.src[1].op_params[11] = -914436442;
        m.op.src[1].op_params[12] = 1221151419u;
        m.op.src[1].op_params[13] = -938228016;
        m.op.src[1].op_params[14] = 1197359845u;
        m.op.src[1].op_params[15] = -962019590;
        m.op.src[1].flags = 1173568271u;
        m.op.src[1].src[0] = 14370143106009773860ull;
        m.op.src[1].src[1] = 7324113851623420729ull;
        m.op.src[1].src[2] = 278084597237067598ull;
        m.op.src[1].src[3] = 11678799416560266083ull;
        m.op.src[1].src[4] = 4632770162173912952ull;
        m.op.src[1].src[5] = 16033484981497111437ull;
        m.op.src[1].src[6] = 8987455727110758306ull;
        m.op.src[1].src[7] = 1941426472724405175ull;
        m.op.src[1].src[8] = 13342141292047603660ull;
        m.op.src[1].src[9] = 6296112037661250529ull;
        m.op.src[1].view_src = 17696826856984449014ull;
        m.op.src[1].view_offs = 10650797602598095883ull;
        m.op.src[1].data = 3604768348211742752ull;
        std::strcpy(m.op.src[1].name, "name 278");
        m.op.src[1].extra = 7959453913148588106ull;
        visit("device_supports_op_request", m, "2e224535000000000100000000000000581ada33fbd39e5d6d9624b3b44dd6fb82126f326ec70d9a978eb9b127414538ac0a0431e1ba7cd6c1864eb09a34b474d602992f54aeeb12eb7ee3ae0d2823b100fb2d2e157778ad2af3c22c3f6f0dac54eb572b6967a2aa7ee3ec29935f37a9a8db8128bd57cca7d2d31627e74f61a6fccbab251148f6a426c440243b408ba350bcd522653820a20300000000000000040000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000020000000000000061099e99ca6ba33b7685e81884e5dad96e616d65203134380000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000a07d7d17f7d849160000000000000000b5f9c796b05281b4ca75121600000000dff15c952346f0f0f46da714ddbf278f09eaf19396395f2d1e663c1350b396cb33e28692092dce69485ed111c3a605085dda1b917c203da672566610369a744487d2b08fef13ace29c4efb0eb1ca458ec646900ddbc2da8cf03e250c05bb6f8b1a37ba0a2fb3048a442f4f0959ab99886e27e40783a32e87981f7906ad9bc385c2170e05d7935884ec0fa303018ced8216083802b41ccaa02b8482816d96013f4000cd00271039dd557c1780e089707b6af861ff9903a8197f74ac7e537ddfb794f0f6fd0cf71656a96c417dc6704ef4bee88bfc7fea8592d364d67b3964bd30e8e020fbf2ddf4cefd5c6b7aac572c6d12d9b5f965d1630b6e616d652031393200000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000003cd14af8d8c4d2470000000000000000514d95770000000066c9dff64bb841847b452a760532792290c174f5beabb0c0a53dbf747825e85ebab909f4319f1ffdcf355473eb18579be4b19ef2a4928e39f92de9715e0cc6d70eaa33f11786fd7523267e7038a2c8ef4d1e136f629a5dee7716a86d8c92f2eca10e3d6cb68a87ebcb06d26ae0821ceaf5fe66690a7bb1e81ff7fb67347346e749ef90665e6bdbe573e72565886370e49ddfba63dc8e1b34b25b05e3950853d2c7d74f624f828a70dc539ae108fcc10ef1cfe460c275f9ac064c2fe07bef304b1bc8795f356968e93044c4deeee29f8745c00e5ea85cd7255a3c59dd61d60ec46fb8a35c1b5046628434eedbd4c97d0099b0385b8e43b59e6e616d65203233350000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000c3a8cd59013724db0000000000000000d82418d900000000eda06258742a9317021dadd72da4cab51799f756e71d02542c1542d6a09739f241918c555a117190560dd7d4138ba82e6b892154cd04e0cc80056cd3867e176b9581b65240f84e09aafd00d2bf794b51d4f595d0e971e04ffeed2acf136a754e28e6bfcd3d620a4d52de54cc675a9f4b7cd6e9ca9152344aa6ce7ec9bb4ac948d0c613c8e5425e47fabea8c60f3bf34524b73dc504016dc739338844be7aa4654eafd2c377f4db03632b1d43316e13a278a767c2eae74a408d23b241a46182dea29ffcc05ddbb97cb71b47401755f11acc9791bfd0ce28b9e113dc3e8a486057f68f26be43c297f50b0c713dfd3bcf932088bbbcb6b506326e616d652032373800000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000004a8050bb29a9756e0000000000000000");
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
        m.buft = 12314139478085433460ull;
        visit("device_get_buffer_type_reply", m, "7478e5b99c9ce4aa");
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
        m.resource = 3047448818u;
        m.size = 18332166918509616391ull;
        m.max_tensor_size = 11286137664123263260ull;
        visit("device_buffer_from_ptr_request", m, "f260a4b507ddee34aff068fe1c5939b4686aa09c");
    }
    {
        DeviceBufferFromPtrReply m;
        m.buffer = 4240108409736910129ull;
        m.buft = 15640823229060108614ull;
        visit("device_buffer_from_ptr_reply", m, "31d5833322e4d73a4651ceb2db5d0fd9");
    }
    {
        BufferTypeGetNameRequest m;
        m.buft = 8594793974673755483ull;
        visit("buffer_type_get_name_request", m, "5bcd183295d74677");
    }
    {
        BufferTypeGetNameReply m;
        m.name = "text 293";
        visit("buffer_type_get_name_reply", m, "0900000000000000746578742032393300000000");
    }
    {
        BufferTypeGetAlignmentRequest m;
        m.buft = 12949479539610600837ull;
        visit("buffer_type_get_alignment_request", m, "85c5ad3008cbb5b3");
    }
    {
        BufferTypeGetAlignmentReply m;
        m.alignment = 5903450285224247706ull;
        visit("buffer_type_get_alignment_reply", m, "9a41f8afc144ed51");
    }
    {
        BufferTypeGetMaxSizeRequest m;
        m.buft = 17304165104547446191ull;
        visit("buffer_type_get_max_size_request", m, "afbd422f7bbe24f0");
    }
    {
        BufferTypeGetMaxSizeReply m;
        m.max_size = 10258135850161093060ull;
        visit("buffer_type_get_max_size_reply", m, "c4398dae34385c8e");
    }
    {
        BufferTypeIsHostRequest m;
        m.buft = 3212106595774739929ull;
        visit("buffer_type_is_host_request", m, "d9b5d72deeb1932c");
    }
    {
        BufferTypeIsHostReply m;
        m.is_host = true;
        visit("buffer_type_is_host_reply", m, "01000000");
    }
    {
        BufferTypeAllocBufferRequest m;
        m.buft = 7566792160711585283ull;
        m.size = 520762906325232152ull;
        visit("buffer_type_alloc_buffer_request", m, "03ae6c2c61a50269182ab7ab1a1f3a07");
    }
    {
        BufferTypeAllocBufferReply m;
        m.buffer = 11921477725648430637ull;
        visit("buffer_type_alloc_buffer_reply", m, "2da6012bd49871a5");
    }
    {
        BufferTypeGetAllocSizeRequest m;
        m.buft = 4875448471262077506ull;
        m.op.tensor.type = 697736791u;
        m.op.tensor.buffer = 1u;
        m.op.tensor.ne[0] = 2184104781812569729ull;
        m.op.tensor.ne[1] = -4861924472573783402ll;
        m.op.tensor.ne[2] = 6538790346749415083ull;
        m.op.tensor.ne[3] = -507238907636938048ll;
        m.op.tensor.nb[0] = 10893475911686260437ull;
        m.op.tensor.nb[1] = 3847446657299907306ull;
        m.op.tensor.nb[2] = 15248161476623105791ull;
        m.op.tensor.nb[3] = 8202132222236752660ull;
        m.op.tensor.op = 578778921u;
        m.op.tensor.op_params[0] = -1580600514;
        m.op.tensor.op_params[1] = 554987347u;
        m.op.tensor.op_params[2] = -1604392088;
        m.op.tensor.op_params[3] = 531195773u;
        m.op.tensor.op_params[4] = -1628183662;
        m.op.tensor.op_params[5] = 507404199u;
        m.op.tensor.op_params[6] = -1651975236;
        m.op.tensor.op_params[7] = 483612625u;
        m.op.tensor.op_params[8] = -1675766810;
        m.op.tensor.op_params[9] = 459821051u;
        m.op.tensor.op_params[10] = -1699558384;
        m.op.tensor.op_params[11] = 436029477u;
        m.op.tensor.op_params[12] = -1723349958;
        m.op.tensor.op_params[13] = 412237903u;
        m.op.tensor.op_params[14] = -1747141532;
        m.op.tensor.op_params[15] = 388446329u;
        m.op.tensor.flags = -1770933106;
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
        m.op.tensor.view_offs = 18182183475160778122ull;
        m.op.tensor.data = 11136154220774424991ull;
        std::strcpy(m.op.tensor.name, "name 345");
        m.op.tensor.extra = 15490839785711270345ull;
        m.op.handle = 8444810531324917214ull;
        m.op.view_src.type = 174322163u;
        m.op.view_src.buffer = 12799496096261762568ull;
        m.op.view_src.ne[0] = 5753466841875409437ull;
        m.op.view_src.ne[1] = -1292562412510943694ll;
        m.op.view_src.ne[2] = -8338591666897296825ll;
        m.op.view_src.ne[3] = 3062123152425901660ull;
        m.op.view_src.nb[0] = 14462837971749100145ull;
        m.op.view_src.nb[1] = 7416808717362747014ull;
        m.op.view_src.nb[2] = 370779462976393883ull;
        m.op.view_src.nb[3] = 11771494282299592368ull;
        m.op.view_src.op = 55364293u;
        m.op.view_src.op_params[0] = -2104015142;
        m.op.view_src.op_params[1] = 31572719u;
        m.op.view_src.op_params[2] = -2127806716;
        m.op.view_src.op_params[3] = 7781145u;
        m.op.view_src.op_params[4] = 2143369006u;
        m.op.view_src.op_params[5] = -16010429;
        m.op.view_src.op_params[6] = 2119577432u;
        m.op.view_src.op_params[7] = -39802003;
        m.op.view_src.op_params[8] = 2095785858u;
        m.op.view_src.op_params[9] = -63593577;
        m.op.view_src.op_params[10] = 2071994284u;
        m.op.view_src.op_params[11] = -87385151;
        m.op.view_src.op_params[12] = 2048202710u;
        m.op.view_src.op_params[13] = -111176725;
        m.op.view_src.op_params[14] = 2024411136u;
        m.op.view_src.op_params[15] = -134968299;
        m.op.view_src.flags = 2000619562u;
        m.op.view_src.src[0] = 7024146964925744191ull;
        m.op.view_src.src[1] = 18424861784248942676ull;
        m.op.view_src.src[2] = 11378832529862589545ull;
        m.op.view_src.src[3] = 4332803275476236414ull;
        m.op.view_src.src[4] = 15733518094799434899ull;
        m.op.view_src.src[5] = 8687488840413081768ull;
        m.op.view_src.src[6] = 1641459586026728637ull;
        m.op.view_src.src[7] = 13042174405349927122ull;
        m.op.view_src.src[8] = 5996145150963573991ull;
        m.op.view_src.src[9] = 17396859970286772476ull;
        m.op.view_src.view_src = 10350830715900419345ull;
        m.op.view_src.view_offs = 3304801461514066214ull;
        m.op.view_src.data = 14705516280837264699ull;
        std::strcpy(m.op.view_src.name, "name 389");
        m.op.view_src.extra = 613457772064558437ull;
        m.op.src[0].type = 1810286970u;
        m.op.src[0].buffer = 4968143337001403791ull;
        m.op.src[0].ne[0] = -2077885917384949340ll;
        m.op.src[0].ne[1] = -9123915171771302471ll;
        m.op.src[0].ne[2] = 2276799647551896014ull;
        m.op.src[0].ne[3] = -4769229606834457117ll;
        m.op.src[0].nb[0] = 6631485212488741368ull;
        m.op.src[0].nb[1] = 18032200031811939853ull;
        m.op.src[0].nb[2] = 10986170777425586722ull;
        m.op.src[0].nb[3] = 3940141523039233591ull;
        m.op.src[0].op = 1691329100u;
        m.op.src[0].op_params[0] = -468050335;
        m.op.src[0].op_params[1] = 1667537526u;
        m.op.src[0].op_params[2] = -491841909;
        m.op.src[0].op_params[3] = 1643745952u;
        m.op.src[0].op_params[4] = -515633483;
        m.op.src[0].op_params[5] = 1619954378u;
        m.op.src[0].op_params[6] = -539425057;
        m.op.src[0].op_params[7] = 1596162804u;
        m.op.src[0].op_params[8] = -563216631;
        m.op.src[0].op_params[9] = 1572371230u;
        m.op.src[0].op_params[10] = -587008205;
        m.op.src[0].op_params[11] = 1548579656u;
        m.op.src[0].op_params[12] = -610799779;
        m.op.src[0].op_params[13] = 1524788082u;
        m.op.src[0].op_params[14] = -634591353;
        m.op.src[0].op_params[15] = 1500996508u;
        m.op.src[0].flags = -658382927;
        m.op.src[0].src[0] = 17639538279374937030ull;
        m.op.src[0].src[1] = 10593509024988583899ull;
        m.op.src[0].src[2] = 3547479770602230768ull;
        m.op.src[0].src[3] = 14948194589925429253ull;
        m.op.src[0].src[4] = 7902165335539076122ull;
        m.op.src[0].src[5] = 856136081152722991ull;
        m.op.src[0].src[6] = 12256850900475921476ull;
        m.op.src[0].src[7] = 5210821646089568345ull;
        m.op.src[0].src[8] = 16611536465412766830ull;
        m.op.src[0].src[9] = 9565507211026413699ull;
        m.op.src[0].view_src = 2519477956640060568ull;
        m.op.src[0].view_offs = 13920192775963259053ull;
        m.op.src[0].data = 6874163521576905922ull;
        std::strcpy(m.op.src[0].name, "name 432");
        m.op.src[0].extra = 11228849086513751276ull;
        m.op.src[1].type = 3446251777u;
        m.op.src[1].buffer = 15583534651450596630ull;
        m.op.src[1].ne[0] = 8537505397064243499ull;
        m.op.src[1].ne[1] = 1491476142677890368ull;
        m.op.src[1].ne[2] = -5554553111708462763ll;
        m.op.src[1].ne[3] = 5846161707614735722ull;
        m.op.src[1].nb[0] = 17246876526937934207ull;
        m.op.src[1].nb[1] = 10200847272551581076ull;
        m.op.src[1].nb[2] = 3154818018165227945ull;
        m.op.src[1].nb[3] = 14555532837488426430ull;
        m.op.src[1].op = 3327293907u;
        m.op.src[1].op_params[0] = 1167914472u;
        m.op.src[1].op_params[1] = -991464963;
        m.op.src[1].op_params[2] = 1144122898u;
        m.op.src[1].op_params[3] = -1015256537;
        m.op.src[1].op_params[4] = 1120331324u;
        m.op.src[1].op_params[5] = -1039048111;
        m.op.src[1].op_params[6] = 1096539750u;
        m.op.src[1].op_params[7] = -1062839685;
        m.op.src[1].op_params[8] = 1072748176u;
        m.op.src[1].op_params[9] = -1086631259;
        m.op.src[1].op_params[10] = 1048956602u;
        m.op.src[1].op_params[11] = -1110422833;
        m.op.src[1].op_params[12] = 1025165028u;
        m.op.src[1].op_params[13] = -1134214407;
        m.op.src[1].op_params[14] = 1001373454u;
        m.op.src[1].op_params[15] = -1158005981;
        m.op.src[1].flags = 977581880u;
        m.op.src[1].src[0] = 9808185520114578253ull;
        m.op.src[1].src[1] = 2762156265728225122ull;
        m.op.src[1].src[2] = 14162871085051423607ull;
        m.op.src[1].src[3] = 7116841830665070476ull;
        m.op.src[1].src[4] = 70812576278717345ull;
        m.op.src[1].src[5] = 11471527395601915830ull;
        m.op.src[1].src[6] = 4425498141215562699ull;
        m.op.src[1].src[7] = 15826212960538761184ull;
        m.op.src[1].src[8] = 8780183706152408053ull;
        m.op.src[1].src[9] = 1734154451766054922ull;
        m.op.src[1].view_src = 13134869271089253407ull;
        m.op.src[1].view_offs = 6088840016702900276ull;
        m.op.src[1].data = 17489554836026098761ull;
        std::strcpy(m.op.src[1].name, "name 475");
        m.op.src[1].extra = 3397496327253392499ull;
        visit("buffer_type_get_alloc_size_request", m, "42224caa8d12a943579e962900000000010000000000000081962b28ba7f4f1e961276a773f986bcab8ec0262d73be5ac00a0ba6e6ecf5f8d5865525a0662d97ea02a0a459e06435ff7eea23135a9cd314fb34a3ccd3d37129777f223ef3c9a1536f142168eb5ea07d67a91f92e3f39ea75f3e1ebcdb889dd157d31ce6d31d9cfb4f681b10ccb29a2548fd193ac447994f40921864bcdc97793827178eb47196030000000000000004000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000002000000000000008a85ef8d891754fc9f013a0d43918b9a6e616d65203334350000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000c9f9ce0bb684fad60000000000000000de75198b6ffe3175f3f1630a00000000086eae89e2f1a0b11deaf8089c6bd84f3266438855e50fee47e28d070f5f478c5c5ed886c8d87e2a71da22068252b6c886566d853bcced669bd2b704f5452505b04e0284aebf5ca3c5ca4c03da469782efc2e101043f2c8119bb76002e37c17f43b30bff582f567e6daba0fd8227eb7c97a335fcac1f807bc19bcafad617157aeb935ff90010aa78158cf4f72a083f773f8489f672c87a615400d4752c42b2ff697c1ef5e5bbe99d7ef868749f35213c9374b3f358af58daa8f0fd7212299078bd6c48f2cba2c716d2e89271851cffb4e764ddf03e963653fce02770f80f6ef1115d72efb189a58f26d9bc6e6b03dd2d3b5507ee247d14cc6e616d65203338390000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000654d9cec9770830800000000000000007ac9e66b000000008f4531eb0a64f244a4c17b6ac4dd29e3b93dc6e97d576181ceb9106937d1981fe3355be8f04ad0bdf8b1a567aac4075c0d2ef0e6633e3ffa22aa3a661db87698372685e5d631ae364ca2cf64611e1ae4769a64638b16afe2a092f961b50e44e1ca8a8e60df06d9dff482235f09ff6dde1e7bb85d33f702dd48734d5c5def97db726be25a87e72cda9c637759b1dfc1d8c65b0c589b3accf4dbd756d754b40393f053a1560e2e3b3105d0ebd5c7a772cf1a4c36558121aa6d2fc880d43a9be10b4444cb53f41419aa59c015d3ad8e50486e3c6052670888e683b8aad12082bf849834f550dafbf622adb03fd093752ec1c22c8a4f4def655f6e616d65203433320000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000ec241f4ec0e2d49b000000000000000001a169cd00000000161db44c33d643d82b99fecbec4f7b764015494ba6c9b214559193ca5f43eab26a0dde4919bd21517f8928c9d23659ef940573488cb0908da981bdc7452ac82bbefd0747ffa3ffc9d37952c6e8f59c45fd71e7c412ee3144276a7cc33ce6c642516211c266de5b417b5aa6c090d6f03fa5523bbfbace853ecf4ad0bde4c61a3df94265bc0ebfaf3b233bfaba38b7443a4d338fb9c3ac1d8862afd9387d265526772b24b836a08cc48ca76e37f019c462a123b9b6a993fb00b69f0336630d339fcb1b4eb51c876a3de0979834d600a2dbf513e3b38f7ad9790a902d3349f410181f0c78b2026e48b63488c231bce77f5449040db17561b7f26e616d6520343735000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000073fca1afe854262f0000000000000000");
    }
    {
        BufferTypeGetAllocSizeReply m;
        m.size = 14798211146576590984ull;
        visit("buffer_type_get_alloc_size_reply", m, "8878ec2ea2ce5dcd");
    }
    {
        BufferGetBaseRequest m;
        m.buffer = 7752181892190237853ull;
        visit("buffer_get_base_request", m, "9df436ae5b48956b");
    }
    {
        BufferGetBaseReply m;
        m.base = 706152637803884722ull;
        visit("buffer_get_base_reply", m, "b270812d15c2cc09");
    }
    {
        BufferSetTensorRequest m;
        m.buffer = 12106867457127083207ull;
        m.tensor.id = 5060838202740730076ull;
        m.tensor.type = 2875254001u;
        m.tensor.buffer = 9415523767677575430ull;
        m.tensor.ne[0] = 2851462427u;
        m.tensor.ne[1] = 692082992u;
        m.tensor.ne[2] = 2827670853u;
        m.tensor.ne[3] = 668291418u;
        m.tensor.nb[0] = 2803879279u;
        m.tensor.nb[1] = 644499844u;
        m.tensor.nb[2] = 2780087705u;
        m.tensor.nb[3] = 620708270u;
        m.tensor.op = 2756296131u;
        m.tensor.op_params[0] = 596916696u;
        m.tensor.op_params[1] = -1562462739;
        m.tensor.op_params[2] = 573125122u;
        m.tensor.op_params[3] = -1586254313;
        m.tensor.op_params[4] = 549333548u;
        m.tensor.op_params[5] = -1610045887;
        m.tensor.op_params[6] = 525541974u;
        m.tensor.op_params[7] = -1633837461;
        m.tensor.op_params[8] = 501750400u;
        m.tensor.op_params[9] = -1657629035;
        m.tensor.op_params[10] = 477958826u;
        m.tensor.op_params[11] = -1681420609;
        m.tensor.op_params[12] = 454167252u;
        m.tensor.op_params[13] = -1705212183;
        m.tensor.op_params[14] = 430375678u;
        m.tensor.op_params[15] = -1729003757;
        m.tensor.flags = 406584104u;
        m.tensor.src[0] = 3640174636341557053ull;
        m.tensor.src[1] = 15040889455664755538ull;
        m.tensor.src[2] = 7994860201278402407ull;
        m.tensor.src[3] = 948830946892049276ull;
        m.tensor.src[4] = 12349545766215247761ull;
        m.tensor.src[5] = 5303516511828894630ull;
        m.tensor.src[6] = 16704231331152093115ull;
        m.tensor.src[7] = 9658202076765739984ull;
        m.tensor.src[8] = 2612172822379386853ull;
        m.tensor.src[9] = 14012887641702585338ull;
        m.tensor.view_src = 6966858387316232207ull;
        m.tensor.view_offs = 18367573206639430692ull;
        m.tensor.data = 11321543952253077561ull;
        std::strcpy(m.tensor.name, "name 523");
        m.resource = 2375630947u;
        m.offset = 8630200262803569784ull;
        m.size = 1584171008417216653ull;
        visit("buffer_set_tensor_request", m, "c7eccbacce3b04a8dc68162c88b53b46f1e460ab000000000661ab2afba8aa821bddf5a93059402945d58aa85a51d5276fcd1fa784496a2699c5b4a5ae41ff24c3bd49a4d8399423edb5dea20232292217ae73a12c2abe2041a608a05622531f6b9e9d9e801ae81d9596329daa127d1cbf8ec79bd40a121be9865c9afe02a719137ff19828fb3b183d7786978b7f843252f3d01645f9bbd0676f1b96fe72f36e7ceb6515b8ec2a0d9167b094716662aba6e3fa132be09949bb5f4593e459d1e7d0db8f129ed30886e557da91574d4024fad3241111c777c20f506f90ca40af6024ccb90f84bae6fe3948048f3d341e9d6e616d6520353233000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000006340998d78bce30c6aa1c4778d382e8c231bfc15");
    }
    {
        BufferSetTensorReply m;
        visit("buffer_set_tensor_reply", m, "");
    }
    {
        BufferGetTensorRequest m;
        m.buffer = 12984885827740415138ull;
        m.tensor.id = 5938856573354062007ull;
        m.tensor.type = 168668364u;
        m.tensor.buffer = 10293542138290907361ull;
        m.tensor.ne[0] = 144876790u;
        m.tensor.ne[1] = 2280464651u;
        m.tensor.ne[2] = 121085216u;
        m.tensor.ne[3] = 2256673077u;
        m.tensor.nb[0] = 97293642u;
        m.tensor.nb[1] = 2232881503u;
        m.tensor.nb[2] = 73502068u;
        m.tensor.nb[3] = 2209089929u;
        m.tensor.op = 49710494u;
        m.tensor.op_params[0] = -2109668941;
        m.tensor.op_params[1] = 25918920u;
        m.tensor.op_params[2] = -2133460515;
        m.tensor.op_params[3] = 2127346u;
        m.tensor.op_params[4] = 2137715207u;
        m.tensor.op_params[5] = -21664228;
        m.tensor.op_params[6] = 2113923633u;
        m.tensor.op_params[7] = -45455802;
        m.tensor.op_params[8] = 2090132059u;
        m.tensor.op_params[9] = -69247376;
        m.tensor.op_params[10] = 2066340485u;
        m.tensor.op_params[11] = -93038950;
        m.tensor.op_params[12] = 2042548911u;
        m.tensor.op_params[13] = -116830524;
        m.tensor.op_params[14] = 2018757337u;
        m.tensor.op_params[15] = -140622098;
        m.tensor.flags = 1994965763u;
        m.tensor.src[0] = 4518193006954888984ull;
        m.tensor.src[1] = 15918907826278087469ull;
        m.tensor.src[2] = 8872878571891734338ull;
        m.tensor.src[3] = 1826849317505381207ull;
        m.tensor.src[4] = 13227564136828579692ull;
        m.tensor.src[5] = 6181534882442226561ull;
        m.tensor.src[6] = 17582249701765425046ull;
        m.tensor.src[7] = 10536220447379071915ull;
        m.tensor.src[8] = 3490191192992718784ull;
        m.tensor.src[9] = 14890906012315917269ull;
        m.tensor.view_src = 7844876757929564138ull;
        m.tensor.view_offs = 798847503543211007ull;
        m.tensor.data = 12199562322866409492ull;
        std::strcpy(m.tensor.name, "name 570");
        m.resource = 3964012606u;
        m.offset = 9508218633416901715ull;
        m.size = 2462189379030548584ull;
        visit("buffer_get_tensor_request", m, "a2b4780bdd9433b4b730c38a960e6b52ccac0d0a00000000e12858890902da8ef6a4a2080b21ed87209d3707351982864a95cc055f111785748d61048909ac839e85f602b3014182c87d8b01ddf9d580f275200007f26a7f1c6eb5fe31eaff7d46664afd5be2947c705edffb85da297b9a5674faafd2be79c44e09f9d9ca5378ee469ef703c3e876183f33f699d8b33e2dbb7d755352ebdc4237c8f40ccc227b57b31274c6455a196c2f5df37fbf91b781aba7723939c9559627f2f1f2b200f4aba33c71ac2c3892c01f87f065a66f30d59bd16f1f20a7ceea171cefd899de6cff93666e9213160b1410b1ed4b8d4da96e616d6520353730000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000003e0846ec5384906b78faf3836800dbea31742b22");
    }
    {
        BufferGetTensorReply m;
        visit("buffer_get_tensor_reply", m, "");
    }
    {
        BufferCpyTensorRequest m;
        m.buffer = 13862904198353747069ull;
        m.source.id = 6816874943967393938ull;
        m.source.type = 1757050023u;
        m.source.buffer = 11171560508904239292ull;
        m.source.ne[0] = 1733258449u;
        m.source.ne[1] = 3868846310u;
        m.source.ne[2] = 1709466875u;
        m.source.ne[3] = 3845054736u;
        m.source.nb[0] = 1685675301u;
        m.source.nb[1] = 3821263162u;
        m.source.nb[2] = 1661883727u;
        m.source.nb[3] = 3797471588u;
        m.source.op = 1638092153u;
        m.source.op_params[0] = -521287282;
        m.source.op_params[1] = 1614300579u;
        m.source.op_params[2] = -545078856;
        m.source.op_params[3] = 1590509005u;
        m.source.op_params[4] = -568870430;
        m.source.op_params[5] = 1566717431u;
        m.source.op_params[6] = -592662004;
        m.source.op_params[7] = 1542925857u;
        m.source.op_params[8] = -616453578;
        m.source.op_params[9] = 1519134283u;
        m.source.op_params[10] = -640245152;
        m.source.op_params[11] = 1495342709u;
        m.source.op_params[12] = -664036726;
        m.source.op_params[13] = 1471551135u;
        m.source.op_params[14] = -687828300;
        m.source.op_params[15] = 1447759561u;
        m.source.flags = -711619874;
        m.source.src[0] = 5396211377568220915ull;
        m.source.src[1] = 16796926196891419400ull;
        m.source.src[2] = 9750896942505066269ull;
        m.source.src[3] = 2704867688118713138ull;
        m.source.src[4] = 14105582507441911623ull;
        m.source.src[5] = 7059553253055558492ull;
        m.source.src[6] = 13523998669205361ull;
        m.source.src[7] = 11414238817992403846ull;
        m.source.src[8] = 4368209563606050715ull;
        m.source.src[9] = 15768924382929249200ull;
        m.source.view_src = 8722895128542896069ull;
        m.source.view_offs = 1676865874156542938ull;
        m.source.data = 13077580693479741423ull;
        std::strcpy(m.source.name, "name 617");
        m.destination.id = 17432266258416586777ull;
        m.destination.type = 3393014830u;
        m.destination.buffer = 3340207749643880515ull;
        m.destination.ne[0] = 3369223256u;
        m.destination.ne[1] = 1209843821u;
        m.destination.ne[2] = 3345431682u;
        m.destination.ne[3] = 1186052247u;
        m.destination.nb[0] = 3321640108u;
        m.destination.nb[1] = 1162260673u;
        m.destination.nb[2] = 3297848534u;
        m.destination.nb[3] = 1138469099u;
        m.destination.op = 3274056960u;
        m.destination.op_params[0] = 1114677525u;
        m.destination.op_params[1] = -1044701910;
        m.destination.op_params[2] = 1090885951u;
        m.destination.op_params[3] = -1068493484;
        m.destination.op_params[4] = 1067094377u;
        m.destination.op_params[5] = -1092285058;
        m.destination.op_params[6] = 1043302803u;
        m.destination.op_params[7] = -1116076632;
        m.destination.op_params[8] = 1019511229u;
        m.destination.op_params[9] = -1139868206;
        m.destination.op_params[10] = 995719655u;
        m.destination.op_params[11] = -1163659780;
        m.destination.op_params[12] = 971928081u;
        m.destination.op_params[13] = -1187451354;
        m.destination.op_params[14] = 948136507u;
        m.destination.op_params[15] = -1211242928;
        m.destination.flags = 924344933u;
        m.destination.src[0] = 16011602692017413754ull;
        m.destination.src[1] = 8965573437631060623ull;
        m.destination.src[2] = 1919544183244707492ull;
        m.destination.src[3] = 13320259002567905977ull;
        m.destination.src[4] = 6274229748181552846ull;
        m.destination.src[5] = 17674944567504751331ull;
        m.destination.src[6] = 10628915313118398200ull;
        m.destination.src[7] = 3582886058732045069ull;
        m.destination.src[8] = 14983600878055243554ull;
        m.destination.src[9] = 7937571623668890423ull;
        m.destination.view_src = 891542369282537292ull;
        m.destination.view_offs = 12292257188605735777ull;
        m.destination.data = 5246227934219382646ull;
        std::strcpy(m.destination.name, "name 660");
        visit("buffer_cpy_tensor_request", m, "7d7c256aebed62c092f86fe9a4679a5ea774ba6800000000bcf004e8175b099bd16c4f67e6e899e6fb64e46510e12ee5255d79643ad9c3e34f550e6364d158e2794da3618ec9ede0a3453860b8c182dfcd3dcd5ee2b917def735625d0cb2acdc212ef75b36aa41db4b268c5a60a2d6d9751e21598a9a6bd89f16b657b49200d7c90e4b56de8a95d5f306e054a831e34a08832ad461ab1ae91dff74531b255287327bbfd2d49e892547f709528e18c1c35c7354d14792f86171ef9e50010c3000866be9cfba85679e9be7334f74ff9e3cb0637ece2d79d6dac5dfc84de7f20d79da5b13cda06c4517efd75d4c5ae67cb56e616d65203631370000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000019d0f24acdd9ebf12e4c3dca0000000043c8874940cd5a2e5844d2c86dc01c48823c67c797b8b146ac34fcc5c1b04645d62c91c4eba8db43002526c315a170422a1dbbc13f990541541550c069919a3f7e0de5be93892f3ea8057abdbd81c43cd2fd0ebce779593bfcf5a3ba1172ee3926ee38b93b6a833850e6cdb7656218377ade62b6d0a334de8f5aad358a1d6c7ca4d6f7b44397a31ab9524234fd10dbb8cece8cb3b68a1257e34ad73270044af5f8c621b2297e81930d436c31e3f7b83122bfb6b09c71f0cf373b013056eb276e4cb74baf0f655f0c6133962ec9de96aa76afe0ad8258ce486e616d652036363000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000");
    }
    {
        BufferCpyTensorReply m;
        m.copied = true;
        visit("buffer_cpy_tensor_reply", m, "01000000");
    }
    {
        BufferClearRequest m;
        m.buffer = 2554884244769874869ull;
        m.value = 202u;
        visit("buffer_clear_request", m, "b523c02bafc57423ca000000");
    }
    {
        BufferClearReply m;
        visit("buffer_clear_reply", m, "");
    }
    {
        BufferFreeBufferRequest m;
        m.buffer = 6909569809706720223ull;
        visit("buffer_free_buffer_request", m, "df1b552a22b9e35f");
    }
    {
        BufferFreeBufferReply m;
        visit("buffer_free_buffer_reply", m, "");
    }
    {
        BackendGraphComputeRequest m;
        m.resource = 2845808628u;
        m.size = 11264255374643565577ull;
        visit("backend_graph_compute_request", m, "f4979fa90914ea2895ac529c");
    }
    {
        BackendGraphComputeReply m;
        m.status = -1472950242;
        visit("backend_graph_compute_reply", m, "1e9034a8");
    }
    {
        NegotiateRequest m;
        m.version = 662637619u;
        m.offered = 8572911685194057800ull;
        m.session = 1526882430807704669ull;
        visit("negotiate_request", m, "330c7f274888c9a6c119f9765d0414267b933015");
    }
    {
        NegotiateReply m;
        m.accepted = 12927597250130903154ull;
        visit("negotiate_reply", m, "72805ea5340d68b3");
    }
}

} // namespace apir
