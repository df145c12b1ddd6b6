//! The zone `5gc`: what is found by DNS in a 5G core, as far as public facts go (TS 23.003 §28.3): most of it is found
//! by the NRF and not by DNS.

use crate::epc::areas::Area;
use crate::epc::fleet::{Addressing, FIRST_CHOICE, naptr};
use crate::epc::options::EpcOptions;
use crate::record::{Name, Record};
use crate::zone::Zone;

/// The zone: the NRF and the NSSF, the AMFs in their sets, and for each tracking area the AMFs that take a handover
/// from the evolved packet core (N26).
pub(super) fn core_zone(options: &EpcOptions, areas: &[Area], dual_stack: bool) -> Zone {
    let origin = options.zone_of("5gc");
    let mut zone = Zone::new(&origin, options.ttl_s, options.name_servers, dual_stack);
    let mut addresses = Addressing::new(FIRST_ADDRESS, dual_stack);
    for function in ["nrf", "nssf"] {
        let name: Name = format!("{function}.{origin}").into();
        addresses.add(&mut zone, &name, false);
        addresses.add(&mut zone, &name, false);
    }
    let amfs: Vec<Name> = (0..options.mmes.div_ceil(MMES_AN_AMF)).map(|index| amf(index, &origin)).collect();
    for (amf, index) in amfs.iter().zip(0..) {
        let set: Name = format!("{}amfset.{origin}", set_labels(index)).into();
        for (interface, service) in [("n2", "x-3gpp-amf:x-n2"), ("n26", "x-3gpp-amf:x-n26")] {
            let host = host(amf, interface);
            let record = |owner| naptr(owner, FIRST_CHOICE, "a", service, &host);
            zone.records.push(record(amf));
            if interface == "n2" {
                zone.records.push(record(&set));
            }
            addresses.add(&mut zone, &host, false);
        }
    }
    for (place, area) in areas.iter().enumerate() {
        zone.records.extend(handover_targets(area, place, &amfs, &origin));
    }
    zone
}

/// The AMFs of a tracking area; codes of 5G have three bytes, of which the highest is 0 here.
fn handover_targets(area: &Area, place: usize, amfs: &[Name], origin: &str) -> Vec<Record> {
    let (high, low) = area.bytes;
    let low = low.map_or("*".to_owned(), |low| format!("tac-lb{low:02x}"));
    let owner: Name = format!("{low}.tac-mb{high:02x}.tac-hb00.5gstac.{origin}").into();
    let of_the_area = amfs.iter().cycle().skip(place % amfs.len().max(1)).take(AMFS_AN_AREA.min(amfs.len()));
    of_the_area.map(|amf| naptr(&owner, FIRST_CHOICE, "a", "x-3gpp-amf:x-n26", &host(amf, "n26"))).collect()
}

/// The name of an AMF: pointer (6 bits), set (10 bits) and region, in hexadecimal digits.
fn amf(index: u32, origin: &str) -> Name {
    format!("pt{:02x}.{}amfi.{origin}", index % AMFS_A_SET, set_labels(index)).into()
}

fn set_labels(index: u32) -> String {
    format!("set{:03x}.region01.", index / AMFS_A_SET + 1)
}

fn host(amf: &Name, interface: &str) -> Name {
    format!("topon.{interface}.{amf}").into()
}

const MMES_AN_AMF: u32 = 4;
const AMFS_A_SET: u32 = 16;
const AMFS_AN_AREA: usize = 2;

/// Apart from those of the zone `epc`, of which there are fewer.
const FIRST_ADDRESS: u32 = 1 << 23;
